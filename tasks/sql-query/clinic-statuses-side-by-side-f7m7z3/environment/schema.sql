CREATE TABLE patients (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  district TEXT
);
CREATE TABLE drugs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  class TEXT NOT NULL
);
CREATE TABLE visits (
  id INTEGER PRIMARY KEY,
  patient_id INTEGER NOT NULL REFERENCES patients (id),
  seen_on TEXT,
  status TEXT NOT NULL
);
CREATE TABLE prescriptions (
  id INTEGER PRIMARY KEY,
  visit_id INTEGER NOT NULL REFERENCES visits (id),
  drug_id INTEGER REFERENCES drugs (id),
  quantity INTEGER NOT NULL,
  price INTEGER NOT NULL
);
