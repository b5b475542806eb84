cat > /app/query.sql <<'QUERY'
WITH sums AS (
  SELECT e.id, e.customer_id AS parent, e.placed_on AS day, coalesce(sum(l.quantity * l.price), 0) AS amount
  FROM orders e LEFT JOIN order_lines l ON l.order_id = e.id
  WHERE e.status = 'shipped' AND e.placed_on IS NOT NULL
  GROUP BY e.id
)
SELECT parent, id, amount, sum(amount) OVER (PARTITION BY parent ORDER BY day)
FROM sums
ORDER BY parent, day, id
QUERY
