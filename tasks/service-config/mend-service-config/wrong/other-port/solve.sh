#!/bin/bash
# The service starts, but listens on the port the mistyped one most resembles.
set -eu
bash /solution/oracle.sh
sed -i 's/8085/8055/' /app/config.json
