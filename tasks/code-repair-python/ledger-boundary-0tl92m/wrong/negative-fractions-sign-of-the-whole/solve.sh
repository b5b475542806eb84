#!/bin/bash
set -eu
cd /app
python3 - <<'PYTHON'
from pathlib import Path

edits = [
    ("/app/tallybook/report.py", "        if not first <= entry.day < last or entry.amount_of(account) == 0:\n", "        if not first <= entry.day <= last or entry.amount_of(account) == 0:\n"),
    ("/app/tallybook/money.py", "    return sign * int(whole) * 100 + int(part.ljust(2, \"0\") or \"0\")\n", "    number = sign * int(whole) * 100\n    part = int(part.ljust(2, \"0\") or \"0\")\n    return number - part if number < 0 else number + part\n"),
]
for name, old, new in edits:
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
PYTHON
