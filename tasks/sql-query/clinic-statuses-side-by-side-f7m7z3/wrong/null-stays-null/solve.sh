cat > /app/query.sql <<'QUERY'
SELECT p.district AS place,
  coalesce(sum(e.status = 'planned'), 0), coalesce(sum(e.status = 'held'), 0), coalesce(sum(e.status = 'missed'), 0)
FROM patients p LEFT JOIN visits e ON e.patient_id = p.id
GROUP BY place
ORDER BY place
QUERY
