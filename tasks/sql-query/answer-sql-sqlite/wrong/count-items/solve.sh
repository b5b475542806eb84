#!/bin/bash
# Counts the lines of the orders, not the orders.
set -eu
bash /solution/oracle.sh >/dev/null
sed -i 's/count(DISTINCT order_id)/count(order_id)/' /app/query.sql
