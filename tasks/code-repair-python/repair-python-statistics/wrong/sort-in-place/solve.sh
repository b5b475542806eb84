#!/bin/bash
# Subtle: every number of a single call is right, but the caller's list is still sorted, so first and last are wrong.
set -eu
cd /app
sed -i 's/position = share \* len(values)/position = share * (len(values) - 1)/' tally/describe.py
sed -i 's/if index > width:/if index >= width:/' tally/window.py
