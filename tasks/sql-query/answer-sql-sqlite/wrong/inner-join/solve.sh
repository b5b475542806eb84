#!/bin/bash
# Subtle: right on the visible data, which has no NULL; customers without a country and items without a discount get lost.
set -eu
bash /solution/oracle.sh >/dev/null
sed -i "s/coalesce(c.country, 'unknown')/c.country/; s/coalesce(i.discount_cents, 0)/i.discount_cents/" /app/query.sql
sed -i "s/WHERE o.status/WHERE c.country IS NOT NULL AND o.status/" /app/query.sql
