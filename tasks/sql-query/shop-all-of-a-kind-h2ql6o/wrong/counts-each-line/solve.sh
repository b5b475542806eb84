cat > /app/query.sql <<'QUERY'
SELECT p.id, p.name FROM customers p WHERE (SELECT count(*) FROM products WHERE category = 'tools') <= (SELECT count(i.id) FROM orders e JOIN order_lines l ON l.order_id = e.id JOIN products i ON i.id = l.product_id WHERE e.customer_id = p.id AND e.status = 'shipped' AND i.category = 'tools') ORDER BY p.id
QUERY
