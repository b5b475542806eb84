cat > /app/query.sql <<'QUERY'
SELECT p.id, p.name FROM customers p
WHERE NOT EXISTS (
  SELECT 1 FROM products i WHERE i.category = 'tools' AND NOT EXISTS (
    SELECT 1 FROM orders e JOIN order_lines l ON l.order_id = e.id
    WHERE e.customer_id = p.id AND e.status = 'shipped' AND l.product_id = i.id))
ORDER BY p.id
QUERY
