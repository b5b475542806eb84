#!/bin/bash
# Subtle: of two customers with the same revenue the one with the higher id wins.
set -eu
bash /solution/oracle.sh >/dev/null
sed -i 's/ORDER BY revenue DESC, customer_id)/ORDER BY revenue DESC, customer_id DESC)/' /app/query.sql
