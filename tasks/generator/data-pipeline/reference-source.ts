/** The reference in Python: what a folder of days should become, read and summed in its own way, and how folders are drawn. */

export const REFERENCE = `"""What a folder of days should become, and folders drawn for one matter at a time."""

import csv
import io
import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

S = json.loads((Path(__file__).parent / "settings.json").read_text(encoding="utf-8"))
KEY, GROUP, WHEN, AMOUNT, REVISION, NOTE = S["columns"]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def seconds_of(text):
    """Seconds since 1970, or None."""
    if S["when"] == "epoch":
        return int(text) if re.fullmatch(r"[0-9]{1,10}", text) else None
    if S["when"] == "local":
        parts = re.fullmatch(r"([0-9]{2})\\.([0-9]{2})\\.([0-9]{4}) ([0-9]{2}):([0-9]{2})", text)
        order, ahead = (3, 2, 1, 4, 5), S["aheadHours"] * 3600
    else:
        shape = r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
        parts = re.fullmatch(shape, text)
        order, ahead = (1, 2, 3, 4, 5, 6), 0
        if parts and parts[7]:
            ahead = (int(parts[8]) * 3600 + int(parts[9]) * 60) * (1 if parts[7] == "+" else -1)
    if not parts:
        return None
    try:
        moment = datetime(*(int(parts[place]) for place in order), tzinfo=timezone.utc)
    except ValueError:
        return None
    return int((moment - EPOCH).total_seconds()) - ahead


def hundredths_of(text):
    if S["amount"] == "unit":
        number, _, unit = text.partition(" ")
        if unit == S["part"]:
            return int(number) if re.fullmatch(r"-?[0-9]+", number) else None
        if unit != S["unit"]:
            return None
        text, mark = number, "."
    else:
        mark = "," if S["amount"] == "comma" else "."
    if not re.fullmatch(r"-?[0-9]+(" + re.escape(mark) + r"[0-9]{1,2})?", text):
        return None
    whole, _, rest = text.lstrip("-").partition(mark)
    size = int(whole + (rest + "00")[:2])
    return -size if text.startswith("-") else size


def record_of(name, raw):
    """(key, group, seconds, hundredths, revision, note), or a reason."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "encoding"
    if name.endswith(".csv"):
        fields = list(csv.reader([text], delimiter=S["delimiter"]))[0]
        if len(fields) != 6:
            return "shape"
    else:
        try:
            value = json.loads(text)
        except ValueError:
            return "shape"
        fields = [value.get(column) for column in S["columns"]] if isinstance(value, dict) else [None]
        if any(not isinstance(field, str) for field in fields):
            return "shape"
    key, group, when, amount, revision, note = fields
    if not key or not re.fullmatch(r"[0-9]{1,9}", revision):
        return "shape"
    seconds, hundredths = seconds_of(when), hundredths_of(amount)
    if seconds is None:
        return "when"
    return "amount" if hundredths is None else (key, group, seconds, hundredths, int(revision), note)


def day_of(seconds):
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d")


def expected(files, areas):
    """{"records": rows, "daily": rows, "rejects": rows}, each sorted."""
    good, rejects = [], []
    for name in sorted(files):
        if not name.endswith((".csv", ".jsonl")):
            continue
        for at, raw in enumerate(files[name].split(b"\\n")):
            if raw == b"" or (at == 0 and name.endswith(".csv")):
                continue
            found = record_of(name, raw)
            if not isinstance(found, str):
                if S["unknown"] == "reject" and found[1] not in areas:
                    found = "unknown"
                elif S["late_days"] is not None:
                    own = datetime.strptime(name.split(".")[0], "%Y-%m-%d").toordinal()
                    if abs(datetime.strptime(day_of(found[2]), "%Y-%m-%d").toordinal() - own) > S["late_days"]:
                        found = "late"
            if isinstance(found, str):
                rejects.append([name, at + 1, found])
            else:
                good.append((found, name, at + 1))
    kept = []
    for key in dict.fromkeys(found[0] for found, _, _ in good):
        same = [entry for entry in good if entry[0][0] == key]
        if S["duplicates"] == "conflict" and len({found for found, _, _ in same}) > 1:
            rejects.extend([name, line, "conflict"] for _, name, line in same)
        elif S["duplicates"] == "latest":
            top = max(found[4] for found, _, _ in same)
            kept.append([found for found, _, _ in same if found[4] == top][-1])
        else:
            kept.append(same[0][0])
    records = [
        [key, group, day_of(seconds), (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ"), amount, note]
        for key, group, seconds, amount, _, note in kept
    ]
    daily = []
    for day, area in sorted({(row[2], areas.get(row[1], "unknown")) for row in records}):
        rows = [row for row in records if (row[2], areas.get(row[1], "unknown")) == (day, area)]
        amounts = sorted(row[4] for row in rows)
        extra = {
            "highest": lambda: amounts[-1],
            "median": lambda: amounts[(len(amounts) - 1) // 2],
            "different": lambda: len({row[1] for row in rows}),
            "latest": lambda: sorted(rows, key=lambda row: (row[3], row[0]))[-1][4],
        }[S["extra"]]()
        daily.append([day, area, len(rows), sum(amounts), extra])
    return {"records": sorted(records), "daily": sorted(daily), "rejects": sorted(rejects)}


def areas_of(text):
    return {row[S["group"]]: row[S["area"]] for row in csv.DictReader(io.StringIO(text))}


def draw_areas(r):
    """The reference as text: every group but one has an area."""
    lines = [f"{group},{r.choice(S['areas'])}" for group in S["groups"][:-1]]
    return "\\n".join([f"{S['group']},{S['area']}", *lines, ""])


def when_text(r, seconds):
    moment = EPOCH + timedelta(seconds=seconds)
    if S["when"] == "epoch":
        return str(seconds)
    if S["when"] == "local":
        return (moment + timedelta(hours=S["aheadHours"])).strftime("%d.%m.%Y %H:%M")
    ahead = r.choice([0, 2, 5, 13, -3, -11])
    if ahead == 0 and r.random() < 0.5:
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return (moment + timedelta(hours=ahead)).strftime("%Y-%m-%dT%H:%M:%S") + f"{ahead:+03d}:00"


def amount_text(r, hundredths):
    if S["amount"] == "unit" and r.random() < 0.4:
        return f"{hundredths} {S['part']}"
    sign, size = "-" if hundredths < 0 else "", abs(hundredths)
    mark = "," if S["amount"] == "comma" else "."
    text = f"{sign}{size // 100}{mark}{size % 100:02d}"
    if size % 100 == 0 and r.random() < 0.5:
        text = f"{sign}{size // 100}"
    elif size % 10 == 0 and r.random() < 0.5:
        text = text[:-1]
    return f"{text} {S['unit']}" if S["amount"] == "unit" else text


class Folder:
    """Days in the making."""

    def __init__(self, r):
        self.r, self.lines, self.count = r, {}, 0

    def fields(self, day, **given):
        r, self.count = self.r, self.count + 1
        seconds = given.get("seconds")
        if seconds is None:
            start = int((datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc) - EPOCH).total_seconds())
            seconds = start + r.randrange(24 * 60) * 60
        hundredths = given.get("hundredths", r.randrange(-2_000, 100_000))
        return [
            given.get("key", f"{S['key_prefix']}{r.randrange(10**6)}-{self.count}"),
            given.get("group", r.choice(S["groups"][:-1])),
            given.get("when", when_text(r, seconds)),
            given.get("amount", amount_text(r, hundredths)),
            str(given.get("revision", r.randrange(1, 9))),
            given.get("note", r.choice(S["notes"])),
        ]

    def name_of(self, day):
        if S["format"] != "mixed":
            return f"{day}.{S['format']}"
        return f"{day}.{'csv' if int(day[-2:]) % 2 else 'jsonl'}"

    def put(self, day, fields):
        name = self.name_of(day)
        if name.endswith(".csv"):
            text = io.StringIO()
            csv.writer(text, delimiter=S["delimiter"], lineterminator="").writerow(fields)
            line = text.getvalue()
        else:
            line = json.dumps(dict(zip(S["columns"], fields)), ensure_ascii=self.r.random() < 0.5)
        self.raw(day, line.encode())

    def add(self, day, **given):
        self.put(day, self.fields(day, **given))

    def raw(self, day, line):
        name = self.name_of(day)
        head = [S["delimiter"].join(S["columns"]).encode()] if name.endswith(".csv") else []
        self.lines.setdefault(name, head).append(line)

    def files(self):
        return {name: b"\\n".join(lines) + b"\\n" for name, lines in self.lines.items()}


def days(r, count):
    first = datetime(2021, 1, 1) + timedelta(days=r.randrange(1_000))
    return [(first + timedelta(days=step)).strftime("%Y-%m-%d") for step in range(count)]


def plain_days(r, count, size):
    """Days without a fault, some with notes that hold the delimiter and quotes."""
    folder = Folder(r)
    for day in days(r, count):
        for _ in range(size):
            folder.add(day, note=r.choice([*S["notes"], f'a{S["delimiter"]} b', 'said "no"', "später"]))
    return folder
`;
