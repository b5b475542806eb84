cat > /app/query.sql <<'QUERY'
SELECT i.class, count(*), sum(l.quantity * l.price) / count(*) FROM prescriptions l JOIN drugs i ON i.id = l.drug_id GROUP BY i.class ORDER BY i.class
QUERY
