#!/bin/bash
set -eu
cd /app
python3 - <<'PYTHON'
from pathlib import Path

edits = [
    ("/app/ledger/report.py", "        if not first <= entry.day < last or entry.amount_of(account) == 0:\n", "        if not first <= entry.day <= last or entry.amount_of(account) == 0:\n"),
    ("/app/ledger/money.py", "    return sign * int(whole) * 100 + int(part.ljust(2, \"0\") or \"0\")\n", "    return sign * (int(whole) * 100 + int(part.ljust(2, \"0\") or \"0\"))\n"),
    ("/app/ledger/report.py", "for name in book.accounts() if book.balance(name) != 0}", "for name in book.accounts() if book.balance(name) > 0}"),
]
for name, old, new in edits:
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
PYTHON
