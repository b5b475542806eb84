#!/bin/bash
# Subtle: sorts without regard to case and not by bytes, so another one of several equal files is kept.
set -eu
sed -e 's/sort -z/sort -z -f/' /solution/tidy.sh > /app/tidy.sh
bash /solution/tidy.sh /app/inbox /app/sorted
