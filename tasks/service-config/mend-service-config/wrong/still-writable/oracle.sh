#!/bin/bash
# Mends each key in place, as the runbook demands it.
set -eu
cd /app
sed -i \
  -e 's|"127.0.0.1 "|"127.0.0.1"|' \
  -e 's|"80855"|8085|' \
  -e 's|"/data/stock.jsn"|"data/stock.json"|' \
  -e 's|"api/v1/"|"/api/v1"|' \
  -e 's|"page_size": 2,|"page_size": 20,|' \
  -e 's|"nam"|"name"|' \
  -e 's|"read_only": false|"read_only": true|' \
  -e 's|\["stock.example.org"\]|["localhost", "127.0.0.1"]|' \
  -e 's|"verbos",|"normal"|' \
  config.json
python3 service.py --config config.json --check
