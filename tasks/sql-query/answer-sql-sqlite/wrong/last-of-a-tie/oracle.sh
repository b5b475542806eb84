#!/bin/bash
# Sums by customer first, then ranks the customers of each country.
set -eu
cat > /app/query.sql <<'SQL'
WITH sold AS (
  SELECT o.id AS order_id, c.id AS customer_id, c.name, coalesce(c.country, 'unknown') AS country,
         i.quantity * p.price_cents - coalesce(i.discount_cents, 0) AS amount
  FROM order_items i
  JOIN orders o ON o.id = i.order_id
  JOIN customers c ON c.id = o.customer_id
  JOIN products p ON p.id = i.product_id
  WHERE o.status = 'paid' AND o.placed_on BETWEEN '2024-01-01' AND '2024-12-31'
),
by_customer AS (
  SELECT country, customer_id, name, sum(amount) AS revenue, count(DISTINCT order_id) AS orders
  FROM sold
  GROUP BY country, customer_id, name
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY country ORDER BY revenue DESC, customer_id) AS place
  FROM by_customer
)
SELECT country,
       sum(revenue) AS revenue_cents,
       sum(orders) AS order_count,
       max(CASE WHEN place = 1 THEN name END) AS best_customer
FROM ranked
GROUP BY country
ORDER BY revenue_cents DESC, country;
SQL
python3 -c "
import sqlite3
for row in sqlite3.connect('file:/app/shop.db?mode=ro', uri=True).execute(open('/app/query.sql').read()):
    print(row)
"
