cat > /app/query.sql <<'QUERY'
WITH days AS (SELECT DISTINCT placed_on AS day FROM orders WHERE status = 'shipped' AND placed_on IS NOT NULL),
marked AS (SELECT day, julianday(day) - row_number() OVER (ORDER BY day) AS island FROM days)
SELECT min(day), max(day), count(*) FROM marked GROUP BY island ORDER BY count(*) DESC, min(day) LIMIT 1
QUERY
