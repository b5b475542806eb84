cat > /app/query.sql <<'QUERY'
WITH amounts AS (SELECT i.class AS kind, l.quantity * l.price AS amount FROM prescriptions l JOIN drugs i ON i.id = l.drug_id)
SELECT kind, count(*), (
  SELECT min(a.amount) FROM amounts a
  WHERE a.kind = k.kind AND 2 * (SELECT count(*) FROM amounts b WHERE b.kind = k.kind AND b.amount <= a.amount) >= (SELECT count(*) FROM amounts c WHERE c.kind = k.kind))
FROM amounts k GROUP BY kind ORDER BY kind
QUERY
