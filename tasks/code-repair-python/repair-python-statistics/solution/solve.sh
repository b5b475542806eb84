#!/bin/bash
# Positions count from 0 to n - 1, the input stays as it was, and a value leaves the window when the window is full.
set -eu
cd /app
python3 - <<'PYTHON'
from pathlib import Path

describe = Path("tally/describe.py")
text = describe.read_text()
text = text.replace(
    """    if isinstance(values, list):
        values.sort()
    else:
        values = sorted(values)
    position = share * len(values)
""",
    """    values = sorted(values)
    position = share * (len(values) - 1)
""",
)
describe.write_text(text)
window = Path("tally/window.py")
window.write_text(window.read_text().replace("if index > width:", "if index >= width:"))
PYTHON
python3 -m unittest discover -s /visible
