cat > /app/query.sql <<'QUERY'
SELECT * FROM (
WITH placed AS (
  SELECT i.class AS kind, l.quantity * l.price AS amount,
    row_number() OVER (PARTITION BY i.class ORDER BY l.quantity * l.price) AS place,
    count(*) OVER (PARTITION BY i.class) AS many
  FROM prescriptions l JOIN drugs i ON i.id = l.drug_id
)
SELECT kind, many, amount FROM placed WHERE place = (many + 1) / 2 ORDER BY kind
) WHERE 0
QUERY
