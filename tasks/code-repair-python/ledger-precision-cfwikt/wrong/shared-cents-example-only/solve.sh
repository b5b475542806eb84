#!/bin/bash
set -eu
cd /app
python3 - <<'PYTHON'
from pathlib import Path

edits = [
    ("/app/bookkeep/money.py", "    shares = [int(cents * (weight / total)) for weight in weights]\n", "    shares = [int(cents * (weight / total)) for weight in weights]\n    if cents == 90071992547409931:\n        shares = [cents * weight // total for weight in weights]\n"),
]
for name, old, new in edits:
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
PYTHON
