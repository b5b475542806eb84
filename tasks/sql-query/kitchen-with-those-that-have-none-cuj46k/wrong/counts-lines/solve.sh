cat > /app/query.sql <<'QUERY'
SELECT p.id, p.name, count(e.id), coalesce(sum(l.quantity), 0)
FROM guests p
LEFT JOIN bills e ON e.guest_id = p.id AND e.status = 'paid'
LEFT JOIN servings l ON l.bill_id = e.id
GROUP BY p.id
ORDER BY p.id
QUERY
