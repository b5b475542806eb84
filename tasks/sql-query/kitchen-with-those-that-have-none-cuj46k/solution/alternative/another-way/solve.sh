cat > /app/query.sql <<'QUERY'
SELECT p.id, p.name,
  (SELECT count(*) FROM bills e WHERE e.guest_id = p.id AND e.status = 'paid'),
  (SELECT coalesce(sum(l.quantity), 0) FROM servings l WHERE l.bill_id IN (SELECT e.id FROM bills e WHERE e.guest_id = p.id AND e.status = 'paid'))
FROM guests p ORDER BY p.id
QUERY
