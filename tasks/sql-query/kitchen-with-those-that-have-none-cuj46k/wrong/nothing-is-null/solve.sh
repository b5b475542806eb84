cat > /app/query.sql <<'QUERY'
SELECT p.id, p.name, count(DISTINCT e.id), sum(l.quantity)
FROM guests p
LEFT JOIN bills e ON e.guest_id = p.id AND e.status = 'paid'
LEFT JOIN servings l ON l.bill_id = e.id
GROUP BY p.id
ORDER BY p.id
QUERY
