cat > /app/query.sql <<'QUERY'
SELECT kind, total, CASE WHEN of_all = 0 THEN 0 ELSE (total * 1000 * 2 / of_all + 1) / 2 END FROM (
  SELECT kind, total, sum(total) OVER () AS of_all FROM (
    SELECT k.kind, (SELECT coalesce(sum(l.quantity * l.price), 0) FROM prescriptions l, drugs i, visits e
      WHERE l.drug_id = i.id AND e.id = l.visit_id AND i.class = k.kind AND e.status = 'held') AS total
    FROM (SELECT DISTINCT class AS kind FROM drugs) k)
) ORDER BY kind
QUERY
