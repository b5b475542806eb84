#!/bin/bash
# Subtle: mends only what the service itself complains about, so pages are small, writing is open and hosts are wrong.
set -eu
bash /solution/oracle.sh
sed -i -e 's/"page_size": 20/"page_size": 2/' -e 's/"read_only": true/"read_only": false/' /app/config.json
