#!/bin/bash
# Another way: no window functions; the best customer is looked up for each country.
set -eu
cat > /app/query.sql <<'SQL'
WITH spent AS (
  SELECT ifnull(customers.country, 'unknown') AS country, customers.id AS id, customers.name AS name,
         sum(quantity * price_cents - ifnull(discount_cents, 0)) AS cents, count(DISTINCT orders.id) AS orders
  FROM customers
  JOIN orders ON orders.customer_id = customers.id
  JOIN order_items ON order_items.order_id = orders.id
  JOIN products ON products.id = order_items.product_id
  WHERE status = 'paid' AND substr(placed_on, 1, 4) = '2024'
  GROUP BY customers.id
)
SELECT country AS country, sum(cents) AS revenue_cents, sum(orders) AS order_count,
       (SELECT name FROM spent AS best WHERE best.country = spent.country ORDER BY cents DESC, id LIMIT 1) AS best_customer
FROM spent
GROUP BY country
ORDER BY 2 DESC, 1
SQL
