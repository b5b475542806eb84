#!/bin/bash
# Another way: a new file, in another order and layout.
set -eu
cat > /app/config.json <<'JSON'
{"log_level": "normal", "allowed_hosts": ["127.0.0.1", "localhost"], "read_only": true, "sort_by": "name", "page_size": 20,
 "base_path": "/api/v1", "data_file": "./data/../data/stock.json", "listen": {"port": 8085, "host": "127.0.0.1"}}
JSON
