cat > /app/query.sql <<'QUERY'
SELECT i.id, i.name FROM dishes i WHERE i.id NOT IN (SELECT l.dish_id FROM servings l JOIN bills e ON e.id = l.bill_id WHERE e.status = 'paid') ORDER BY i.id
QUERY
