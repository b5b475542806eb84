#!/bin/bash
set -eu
cd /app
python3 - <<'PYTHON'
from pathlib import Path

edits = [
    ("/app/tallybook/money.py", "    return sign * int(whole) * 100 + int(part.ljust(2, \"0\") or \"0\")\n", "    return sign * (int(whole) * 100 + int(part.ljust(2, \"0\") or \"0\"))\n"),
]
for name, old, new in edits:
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
PYTHON
