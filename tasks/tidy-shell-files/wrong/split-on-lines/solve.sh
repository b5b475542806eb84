#!/bin/bash
# Subtle: the inbox was sorted by hand with care, but the script splits names on newlines and so loses files elsewhere.
set -eu
bash /solution/tidy.sh /app/inbox /app/sorted
sed -e "s/read -r -d ''/read -r/" -e "s/-printf '%P.0' | sort -z/-printf '%P\\\\n' | sort/" /solution/tidy.sh > /app/tidy.sh
