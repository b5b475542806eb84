"""The rows that the question asks for, computed without SQL, and databases drawn for one matter at a time."""

import json
from pathlib import Path
from types import SimpleNamespace

S = json.loads((Path(__file__).parent / "settings.json").read_text(encoding="utf-8"))
OPEN, DONE, VOID = S["statuses"]
FIRST = S["kinds"][0]
FIELDS = {
    "parents": ("id", "name", "region"),
    "items": ("id", "name", "kind"),
    "events": ("id", "parent", "date", "status"),
    "lines": ("id", "event", "item", "quantity", "price"),
}


def answer(db):
    kinds = {item.id: item.kind for item in db.items}
    amounts = {}
    for line in db.lines:
        if line.item is not None:
            amounts.setdefault(kinds[line.item], []).append(line.quantity * line.price)
    return [[kind, len(found), sorted(found)[(len(found) - 1) // 2]] for kind, found in sorted(amounts.items())]


def rows_of(data):
    """The rows for tables as lists of rows."""
    tables = {
        name: [SimpleNamespace(**dict(zip(fields, row))) for row in data[name]] for name, fields in FIELDS.items()
    }
    return [list(row) for row in answer(SimpleNamespace(**tables))]


def draw(r, size, nulls=0.1, days=12, values=40, spread=1.0):
    """Tables of about `size` parents. A small `spread` leaves many of them without what points at them."""
    def day():
        number = r.randrange(days)
        return f"2023-{2 + number // 28:02d}-{1 + number % 28:02d}"

    def of(count):
        return r.randrange(max(1, round(count * spread))) + 1

    parents, items = r.randrange(1, size + 2), r.randrange(1, size + 2)
    events, lines = r.randrange(size * 3), r.randrange(size * 6)
    lines = lines if events else 0
    return {
        "parents": [
            [1 + n, r.choice(["Ann", "Bo", "Cy"]), None if r.random() < nulls else r.choice(S["regions"])]
            for n in range(parents)
        ],
        "items": [[1 + n, r.choice(["x", "y", "z"]), r.choice(S["kinds"])] for n in range(items)],
        "events": [
            [1 + n, of(parents), None if r.random() < nulls else day(), r.choice([OPEN, DONE, DONE, DONE, VOID])]
            for n in range(events)
        ],
        "lines": [
            [1 + n, of(events), None if r.random() < nulls else of(items), r.randrange(1, 4), r.randrange(values)]
            for n in range(lines)
        ],
    }
