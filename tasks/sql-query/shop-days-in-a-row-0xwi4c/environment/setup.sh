python3 - <<'BUILD'
import sqlite3
from pathlib import Path

with sqlite3.connect("/app/data.db") as connection:
    connection.executescript(Path("/app/schema.sql").read_text(encoding="utf-8"))
    connection.executescript(Path("/app/data.sql").read_text(encoding="utf-8"))
BUILD
chown -R 1000:1000 /app
