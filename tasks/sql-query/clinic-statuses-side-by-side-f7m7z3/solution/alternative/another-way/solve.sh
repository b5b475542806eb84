cat > /app/query.sql <<'QUERY'
SELECT r.place,
  (SELECT count(*) FROM visits e JOIN patients p ON p.id = e.patient_id WHERE coalesce(p.district, '(none)') = r.place AND e.status = 'planned'),
  (SELECT count(*) FROM visits e JOIN patients p ON p.id = e.patient_id WHERE coalesce(p.district, '(none)') = r.place AND e.status = 'held'),
  (SELECT count(*) FROM visits e JOIN patients p ON p.id = e.patient_id WHERE coalesce(p.district, '(none)') = r.place AND e.status = 'missed')
FROM (SELECT DISTINCT coalesce(district, '(none)') AS place FROM patients) r ORDER BY r.place
QUERY
