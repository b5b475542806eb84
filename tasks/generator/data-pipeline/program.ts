/**
 * The pipeline as a program, in two ways: the oracle keeps records in dictionaries, the alternative lets SQLite decide.
 * Both share how a field is read. A flaw puts one wrong piece in the place of a right one.
 */
import { columnsOf, type Spec } from "./spec.ts";

/** Pieces of the program by what they decide; each can be replaced by a wrong one. */
export interface Pieces {
  readonly lines: string;
  readonly fields: string;
  readonly when: string;
  readonly amount: string;
  readonly reason: string;
  readonly settle: string;
  readonly extra: string;
  readonly store: string;
}

export function rightPieces(spec: Spec): Pieces {
  return {
    lines: LINES,
    fields: fieldsOf(spec),
    when: whenOf(spec),
    amount: amountOf(spec),
    reason: reasonOf(spec),
    settle: SETTLE[spec.duplicates],
    extra: EXTRA[spec.extra],
    store: storeOf(spec),
  };
}

/** The whole program. */
export function dictionaryProgram(spec: Spec, flaw: Partial<Pieces> = {}): string {
  const pieces = { ...rightPieces(spec), ...flaw };
  return `${headOf(spec)}
${pieces.lines}

${pieces.fields}

${pieces.when}

${pieces.amount}

${pieces.reason}

${pieces.settle}

${pieces.extra}

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


${pieces.store}

main(*map(Path, sys.argv[1:4]))
`;
}

const LINES = `def lines_of(path):
    for number, raw in enumerate(path.read_bytes().split(b"\\n"), 1):
        if raw and not (number == 1 and path.suffix == ".csv"):
            yield number, raw`;

function headOf({ world }: Spec): string {
  return `"""Loads ${world.things} of all days into a database."""

import csv
import json
import re
import sqlite3
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

COLUMNS = ${JSON.stringify(columnsOf(world))}


def files_of(incoming):
    return sorted(path for path in incoming.iterdir() if path.suffix in (".csv", ".jsonl"))


def read_areas(reference):
    with open(reference, encoding="utf-8", newline="") as file:
        return {row["${world.group}"]: row["${world.area}"] for row in csv.DictReader(file)}

`;
}

function fieldsOf({ world, delimiter }: Spec): string {
  return `def split_line(text):
    return next(csv.reader([text], delimiter="${delimiter}"))


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
    if values["${world.key}"] == "" or not re.fullmatch("[0-9]{1,9}", values["revision"]):
        return "shape"
    at = parse_when(values["${world.when}"])
    if at is None:
        return "when"
    amount = parse_amount(values["${world.amount}"])
    if amount is None:
        return "amount"
    return {
        "key": values["${world.key}"],
        "group": values["${world.group}"],
        "at": at,
        "day": at[:10],
        "amount": amount,
        "revision": int(values["revision"]),
        "note": values["note"],
    }`;
}

function whenOf({ when, aheadHours }: Spec): string {
  const utc = `    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")`;
  switch (when) {
    case "epoch":
      return `def parse_when(text):
    if not re.fullmatch("[0-9]{1,10}", text):
        return None
    moment = datetime.fromtimestamp(int(text), timezone.utc)
${utc}`;
    case "offset":
      return `def parse_when(text):
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})", text):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
${utc}`;
    case "local":
      return `def parse_when(text):
    if not re.fullmatch("[0-9]{2}[.][0-9]{2}[.][0-9]{4} [0-9]{2}:[0-9]{2}", text):
        return None
    try:
        moment = datetime.strptime(text, "%d.%m.%Y %H:%M").replace(tzinfo=timezone(timedelta(hours=${aheadHours})))
    except ValueError:
        return None
${utc}`;
  }
}

function amountOf({ amount, world }: Spec): string {
  if (amount === "unit") {
    return `def parse_amount(text):
    small = re.fullmatch("(-?[0-9]+) ${world.part}", text)
    if small:
        return int(small[1])
    whole = re.fullmatch("(-?)([0-9]+)(?:[.]([0-9]{1,2}))? ${world.unit}", text)
    if whole is None:
        return None
    hundredths = int(whole[2]) * 100 + int((whole[3] or "0").ljust(2, "0"))
    return -hundredths if whole[1] else hundredths`;
  }
  return `def parse_amount(text):
    match = re.fullmatch("(-?)([0-9]+)(?:[${amount === "comma" ? "," : "."}]([0-9]{1,2}))?", text)
    if match is None:
        return None
    hundredths = int(match[2]) * 100 + int((match[3] or "0").ljust(2, "0"))
    return -hundredths if match[1] else hundredths`;
}

function reasonOf({ unknown, lateDays }: Spec): string {
  const checks = [
    ...(unknown === "reject" ? [`    if record["group"] not in areas:`, `        return "unknown"`] : []),
    ...(lateDays === null
      ? []
      : [
          `    apart = date.fromisoformat(record["day"]) - date.fromisoformat(path.stem)`,
          `    if abs(apart.days) > ${lateDays}:`,
          `        return "late"`,
        ]),
  ];
  return ["def reason_of(record, path, areas):", ...checks, "    return None"].join("\n");
}

const SETTLE = {
  first: `def settle(records, rejects):
    kept = {}
    for record in records:
        kept.setdefault(record["key"], record)
    return list(kept.values())
`,
  latest: `def settle(records, rejects):
    kept = {}
    for record in records:
        other = kept.get(record["key"])
        if other is None or record["revision"] >= other["revision"]:
            kept[record["key"]] = record
    return list(kept.values())
`,
  conflict: `def settle(records, rejects):
    kept = {}
    for record in records:
        kept.setdefault(record["key"], []).append(record)
    facts = []
    for same in kept.values():
        contents = {tuple(record[name] for name in ("group", "at", "amount", "revision", "note")) for record in same}
        if len(contents) == 1:
            facts.append(same[0])
        else:
            rejects.extend((record["file"], record["line"], "conflict") for record in same)
    return facts
`,
} as const;

const EXTRA = {
  highest: `def extra_of(rows):
    return max(row["amount"] for row in rows)
`,
  median: `def extra_of(rows):
    amounts = sorted(row["amount"] for row in rows)
    return amounts[(len(amounts) - 1) // 2]
`,
  different: `def extra_of(rows):
    return len({row["group"] for row in rows})
`,
  latest: `def extra_of(rows):
    return max(rows, key=lambda row: (row["at"], row["key"]))["amount"]
`,
} as const;

function storeOf({ world, extra }: Spec): string {
  return `def store(database, facts, daily, rejects):
    with sqlite3.connect(database) as connection:
        for table in ("${world.things}", "daily", "rejects"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
${CREATE({ world, extra })}
        connection.executemany(
            "INSERT INTO ${world.things} VALUES (?, ?, ?, ?, ?, ?)",
            [tuple(fact[name] for name in ("key", "group", "day", "at", "amount", "note")) for fact in facts],
        )
        connection.executemany("INSERT INTO daily VALUES (?, ?, ?, ?, ?)", daily)
        connection.executemany("INSERT INTO rejects VALUES (?, ?, ?)", rejects)
`;
}

export const CREATE = ({ world, extra }: Pick<Spec, "world" | "extra">, clause = ""): string =>
  `        connection.execute("CREATE TABLE ${clause}${world.things} (${world.key} TEXT PRIMARY KEY, ${world.group} TEXT, day TEXT, at TEXT, ${world.amount} INTEGER, note TEXT)")
        connection.execute("CREATE TABLE ${clause}daily (day TEXT, ${world.area} TEXT, count INTEGER, total INTEGER, ${extra} INTEGER)")
        connection.execute("CREATE TABLE ${clause}rejects (file TEXT, line INTEGER, reason TEXT)")`;

/** Loads all good lines as they come, and leaves what counts and what is summed to queries. */
export function queryProgram(spec: Spec): string {
  const pieces = rightPieces(spec);
  const { world } = spec;
  const settle = {
    first: "DELETE FROM loaded WHERE seq NOT IN (SELECT min(seq) FROM loaded GROUP BY key)",
    latest:
      "DELETE FROM loaded WHERE seq NOT IN (SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY key ORDER BY revision DESC, seq DESC) AS place FROM loaded) WHERE place = 1)",
    conflict: "",
  }[spec.duplicates];
  const extra = {
    highest: "max(amount)",
    median: "max(CASE WHEN place = (many + 1) / 2 THEN amount END)",
    different: 'count(DISTINCT "group")',
    latest: "max(CASE WHEN newest = 1 THEN amount END)",
  }[spec.extra];
  const conflicts = `        odd = "SELECT key FROM (SELECT DISTINCT key, \\"group\\", at, amount, revision, note FROM loaded) GROUP BY key HAVING count(*) > 1"
        connection.execute(f"INSERT INTO rejects SELECT file, line, 'conflict' FROM loaded WHERE key IN ({odd})")
        connection.execute(f"DELETE FROM loaded WHERE key IN ({odd})")
        connection.execute("DELETE FROM loaded WHERE seq NOT IN (SELECT min(seq) FROM loaded GROUP BY key)")`;
  return `${headOf(spec)}
${pieces.lines}

${pieces.fields}

${pieces.when}

${pieces.amount}

${pieces.reason}


def main(incoming, reference, database):
    database.unlink(missing_ok=True)
    areas = read_areas(reference)
    with sqlite3.connect(database) as connection:
${CREATE(spec)}
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
${spec.duplicates === "conflict" ? conflicts : `        connection.execute("${settle}")`}
        connection.execute('INSERT INTO ${world.things} SELECT key, "group", day, at, amount, note FROM loaded')
        connection.execute("""
            INSERT INTO daily SELECT day, area, count(*), sum(amount), ${extra} FROM (
                SELECT *, row_number() OVER (PARTITION BY day, area ORDER BY amount) AS place,
                    row_number() OVER (PARTITION BY day, area ORDER BY at DESC, key DESC) AS newest,
                    count(*) OVER (PARTITION BY day, area) AS many
                FROM loaded
            ) GROUP BY day, area
        """)


main(*map(Path, sys.argv[1:4]))
`;
}
