"""Prints what a query gives: python3 /app/ask.py QUERY_FILE [DATABASE]"""

import sqlite3
import sys
from pathlib import Path

connection = sqlite3.connect(sys.argv[2] if len(sys.argv) > 2 else "/app/data.db")
found = connection.execute(Path(sys.argv[1]).read_text(encoding="utf-8"))
print(" | ".join(column[0] for column in found.description))
for row in found:
    print(" | ".join("NULL" if value is None else str(value) for value in row))
