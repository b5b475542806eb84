cat > /app/query.sql <<'QUERY'
WITH RECURSIVE days AS (SELECT DISTINCT placed_on AS day FROM orders WHERE status = 'shipped' AND placed_on IS NOT NULL),
walk (first, last, many) AS (
  SELECT day, day, 1 FROM days WHERE date(day, '-1 day') NOT IN (SELECT day FROM days)
  UNION ALL
  SELECT first, date(last, '+1 day'), many + 1 FROM walk WHERE date(last, '+1 day') IN (SELECT day FROM days)
)
SELECT first, last, many FROM walk ORDER BY many DESC, first LIMIT 1
QUERY
