cat > /app/query.sql <<'QUERY'
SELECT * FROM (
SELECT i.id, i.name FROM dishes i
WHERE NOT EXISTS (SELECT 1 FROM servings l JOIN bills e ON e.id = l.bill_id WHERE l.dish_id = i.id AND e.status = 'paid')
ORDER BY i.id
) WHERE 0
QUERY
