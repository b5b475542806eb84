set -e
cat > /app/pipeline.py <<'PROGRAM'
"""Loads weighings of all days into a database."""

import csv
import json
import re
import sqlite3
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

COLUMNS = ["slip","scale","weighed_at","weight","revision","note"]


def files_of(incoming):
    return sorted(path for path in incoming.iterdir() if path.suffix in (".csv", ".jsonl"))


def read_areas(reference):
    with open(reference, encoding="utf-8", newline="") as file:
        return {row["scale"]: row["yard"] for row in csv.DictReader(file)}


def lines_of(path):
    for number, raw in enumerate(path.read_bytes().split(b"\n"), 1):
        if raw and not (number == 1 and path.suffix == ".csv"):
            yield number, raw

def split_line(text):
    return next(csv.reader([text], delimiter="|"))


def read_record(path, raw):
    """The record of a line, or why there is none."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "encoding"
    if path.suffix == ".csv":
        fields = split_line(text)
        if len(fields) != len(COLUMNS):
            return "shape"
        values = dict(zip(COLUMNS, fields))
    else:
        try:
            values = json.loads(text)
        except ValueError:
            return "shape"
        if not isinstance(values, dict) or not all(isinstance(values.get(name), str) for name in COLUMNS):
            return "shape"
    if values["slip"] == "" or not re.fullmatch("[0-9]{1,9}", values["revision"]):
        return "shape"
    at = parse_when(values["weighed_at"])
    if at is None:
        return "when"
    amount = parse_amount(values["weight"])
    if amount is None:
        return "amount"
    return {
        "key": values["slip"],
        "group": values["scale"],
        "at": at,
        "day": at[:10],
        "amount": amount,
        "revision": int(values["revision"]),
        "note": values["note"],
    }

def parse_when(text):
    if not re.fullmatch("[0-9]{2}[.][0-9]{2}[.][0-9]{4} [0-9]{2}:[0-9]{2}", text):
        return None
    try:
        moment = datetime.strptime(text, "%d.%m.%Y %H:%M").replace(tzinfo=timezone(timedelta(hours=9)))
    except ValueError:
        return None
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

def parse_amount(text):
    small = re.fullmatch("(-?[0-9]+) ckg", text)
    if small:
        return int(small[1])
    whole = re.fullmatch("(-?)([0-9]+)(?:[.]([0-9]{1,2}))? t", text)
    if whole is None:
        return None
    hundredths = int(whole[2]) * 100 + int((whole[3] or "0").ljust(2, "0"))
    return -hundredths if whole[1] else hundredths

def reason_of(record, path, areas):
    if record["group"] not in areas:
        return "unknown"
    apart = date.fromisoformat(record["day"]) - date.fromisoformat(path.stem)
    if abs(apart.days) > 1:
        return "late"
    return None

def settle(records, rejects):
    kept = {}
    for record in records:
        other = kept.get(record["key"])
        if other is None or record["revision"] >= other["revision"]:
            kept[record["key"]] = record
    return list(kept.values())


def extra_of(rows):
    return len({row["group"] for row in rows})


def main(incoming, reference, database):
    areas = read_areas(reference)
    rejects, records = [], []
    for path in files_of(incoming):
        for number, raw in lines_of(path):
            record = read_record(path, raw)
            reason = record if isinstance(record, str) else reason_of(record, path, areas)
            if reason:
                rejects.append((path.name, number, reason))
            else:
                records.append({**record, "file": path.name, "line": number})
    facts = settle(records, rejects)
    groups = {}
    for fact in facts:
        groups.setdefault((fact["day"], areas.get(fact["group"], "unknown")), []).append(fact)
    daily = [
        (day, area, len(rows), sum(row["amount"] for row in rows), extra_of(rows))
        for (day, area), rows in groups.items()
    ]
    store(database, facts, daily, rejects)


def store(database, facts, daily, rejects):
    with sqlite3.connect(database) as connection:
        for table in ("weighings", "daily", "rejects"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute("CREATE TABLE weighings (slip TEXT PRIMARY KEY, scale TEXT, day TEXT, at TEXT, weight INTEGER, note TEXT)")
        connection.execute("CREATE TABLE daily (day TEXT, yard TEXT, count INTEGER, total INTEGER, different INTEGER)")
        connection.execute("CREATE TABLE rejects (file TEXT, line INTEGER, reason TEXT)")
        connection.executemany(
            "INSERT INTO weighings VALUES (?, ?, ?, ?, ?, ?)",
            [tuple(fact[name] for name in ("key", "group", "day", "at", "amount", "note")) for fact in facts],
        )
        connection.executemany("INSERT INTO daily VALUES (?, ?, ?, ?, ?)", daily)
        connection.executemany("INSERT INTO rejects VALUES (?, ?, ?)", rejects)


main(*map(Path, sys.argv[1:4]))
PROGRAM
python3 /app/pipeline.py /app/incoming /app/reference.csv /app/warehouse.db
