#!/bin/bash
# Subtle: the inbox was sorted by hand with care, but the script splits names on newlines and so loses files elsewhere.
set -eu
bash /solution/tidy.sh /app/inbox /app/sorted
sed -e "s/mapfile -d '' paths/mapfile -t paths/" -e "s/'%P.0' | sort -z/'%P\\\\n' | sort/" /solution/tidy.sh > /app/tidy.sh
