CREATE TABLE guests (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  club TEXT
);
CREATE TABLE dishes (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  course TEXT NOT NULL
);
CREATE TABLE bills (
  id INTEGER PRIMARY KEY,
  guest_id INTEGER NOT NULL REFERENCES guests (id),
  served_on TEXT,
  status TEXT NOT NULL
);
CREATE TABLE servings (
  id INTEGER PRIMARY KEY,
  bill_id INTEGER NOT NULL REFERENCES bills (id),
  dish_id INTEGER REFERENCES dishes (id),
  quantity INTEGER NOT NULL,
  price INTEGER NOT NULL
);
