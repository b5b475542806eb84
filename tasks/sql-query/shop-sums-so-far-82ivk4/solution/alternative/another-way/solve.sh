cat > /app/query.sql <<'QUERY'
WITH sums AS (
  SELECT e.id, e.customer_id AS parent, e.placed_on AS day, (SELECT coalesce(sum(quantity * price), 0) FROM order_lines l WHERE l.order_id = e.id) AS amount
  FROM orders e WHERE e.status = 'shipped' AND e.placed_on IS NOT NULL
)
SELECT parent, id, amount, (SELECT sum(o.amount) FROM sums o WHERE o.parent = s.parent AND (o.day < s.day OR (o.day = s.day AND o.id <= s.id)))
FROM sums s ORDER BY parent, day, id
QUERY
