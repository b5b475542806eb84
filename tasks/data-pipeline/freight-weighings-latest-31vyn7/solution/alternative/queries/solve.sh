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
    if not re.fullmatch("[0-9]{1,10}", text):
        return None
    moment = datetime.fromtimestamp(int(text), timezone.utc)
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

def parse_amount(text):
    match = re.fullmatch("(-?)([0-9]+)(?:[.]([0-9]{1,2}))?", text)
    if match is None:
        return None
    hundredths = int(match[2]) * 100 + int((match[3] or "0").ljust(2, "0"))
    return -hundredths if match[1] else hundredths

def reason_of(record, path, areas):
    if record["group"] not in areas:
        return "unknown"
    apart = date.fromisoformat(record["day"]) - date.fromisoformat(path.stem)
    if abs(apart.days) > 2:
        return "late"
    return None


def main(incoming, reference, database):
    database.unlink(missing_ok=True)
    areas = read_areas(reference)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE weighings (slip TEXT PRIMARY KEY, scale TEXT, day TEXT, at TEXT, weight INTEGER, note TEXT)")
        connection.execute("CREATE TABLE daily (day TEXT, yard TEXT, count INTEGER, total INTEGER, highest INTEGER)")
        connection.execute("CREATE TABLE rejects (file TEXT, line INTEGER, reason TEXT)")
        connection.execute('CREATE TEMP TABLE loaded (seq INTEGER PRIMARY KEY, key, "group", day, at, amount, revision, note, file, line, area)')
        for path in files_of(incoming):
            for number, raw in lines_of(path):
                record = read_record(path, raw)
                reason = record if isinstance(record, str) else reason_of(record, path, areas)
                if reason:
                    connection.execute("INSERT INTO rejects VALUES (?, ?, ?)", (path.name, number, reason))
                    continue
                row = [record[name] for name in ("key", "group", "day", "at", "amount", "revision", "note")]
                row += [path.name, number, areas.get(record["group"], "unknown")]
                connection.execute("INSERT INTO loaded VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("DELETE FROM loaded WHERE seq NOT IN (SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY key ORDER BY revision DESC, seq DESC) AS place FROM loaded) WHERE place = 1)")
        connection.execute('INSERT INTO weighings SELECT key, "group", day, at, amount, note FROM loaded')
        connection.execute("""
            INSERT INTO daily SELECT day, area, count(*), sum(amount), max(amount) FROM (
                SELECT *, row_number() OVER (PARTITION BY day, area ORDER BY amount) AS place,
                    row_number() OVER (PARTITION BY day, area ORDER BY at DESC, key DESC) AS newest,
                    count(*) OVER (PARTITION BY day, area) AS many
                FROM loaded
            ) GROUP BY day, area
        """)


main(*map(Path, sys.argv[1:4]))
PROGRAM
python3 /app/pipeline.py /app/incoming /app/reference.csv /app/warehouse.db
