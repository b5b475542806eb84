cat > /app/query.sql <<'QUERY'
WITH sums AS (
  SELECT i.class AS kind, coalesce(sum(CASE WHEN e.id IS NOT NULL THEN l.quantity * l.price END), 0) AS total
  FROM drugs i
  LEFT JOIN prescriptions l ON l.drug_id = i.id
  LEFT JOIN visits e ON e.id = l.visit_id AND e.status = 'held'
  GROUP BY i.class
), whole AS (SELECT sum(total) AS of_all FROM sums)
SELECT kind, total, (2000 * total + of_all) / (2 * of_all)
FROM sums, whole
ORDER BY kind
QUERY
