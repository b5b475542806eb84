cat > /app/query.sql <<'QUERY'
SELECT i.id, i.name FROM dishes i
LEFT JOIN (SELECT DISTINCT l.dish_id AS used FROM servings l JOIN bills e ON e.id = l.bill_id WHERE e.status = 'paid') u ON u.used = i.id
WHERE u.used IS NULL ORDER BY i.id
QUERY
