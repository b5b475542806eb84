/**
 * The hidden tests: databases drawn at grading are built in the subject, the query is run there, and its rows are
 * compared with a reference that computes them without SQL.
 */
import type { DraftFiles } from "../../../src/task/draft.ts";
import type { Question } from "./question.ts";
import { type Data, SCHEMA, said, type World } from "./world.ts";

export const TESTS = {
  unit: { file: "unit/test_given.py", of: "TestGiven", names: ["test_rows", "test_columns"] },
  integration: {
    file: "integration/test_other_data.py",
    of: "TestOtherData",
    names: ["test_other_rows", "test_larger_tables"],
  },
  boundary: {
    file: "boundary/test_edges.py",
    of: "TestEdges",
    names: ["test_empty_tables", "test_ties", "test_missing_values", "test_rows_that_stand_alone"],
  },
} as const;

export type Tier = keyof typeof TESTS;

export function testId(tier: Tier, name: string): string {
  return `${TESTS[tier].file}::${TESTS[tier].of}.${name}`;
}

export function hiddenTests(question: Question, world: World, given: Data): DraftFiles {
  const tables = Object.fromEntries(Object.keys(given).map((name) => [name, said(`Q${name}`, world)]));
  const settings = {
    schema: said(SCHEMA, world),
    tables,
    columns: question.columns.length,
    statuses: ["Qopen", "Qdone", "Qvoid"].map((word) => said(word, world)),
    regions: world.regions,
    kinds: world.kinds,
    given,
  };
  return {
    "support/settings.json": JSON.stringify(settings, null, 1),
    "support/reference.py": referenceOf(question),
    "support/drive.py": DRIVE,
    [TESTS.unit.file]: UNIT,
    [TESTS.integration.file]: INTEGRATION,
    [TESTS.boundary.file]: BOUNDARY,
  };
}

function referenceOf({ reference }: Question): string {
  const known = ["Counter", "combinations", "date", "timedelta", "Fraction", "math"].filter((name) =>
    new RegExp(`\\b${name}\\b`).test(reference),
  );
  const imports = [
    ["Counter", "from collections import Counter"],
    ["date", "from datetime import date"],
    ["timedelta", "from datetime import timedelta"],
    ["Fraction", "from fractions import Fraction"],
    ["combinations", "from itertools import combinations"],
    ["math", "import math"],
  ].flatMap(([name = "", line = ""]) => (known.includes(name) ? [line] : []));
  return `"""The rows that the question asks for, computed without SQL, and databases drawn for one matter at a time."""

import json
${imports.map((line) => `${line}\n`).join("")}from pathlib import Path
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
${reference}


def rows_of(data):
    """The rows for tables as lists of rows."""
    tables = {
        name: [SimpleNamespace(**dict(zip(fields, row))) for row in data[name]] for name, fields in FIELDS.items()
    }
    return [list(row) for row in answer(SimpleNamespace(**tables))]


def draw(r, size, nulls=0.1, days=12, values=40, spread=1.0):
    """Tables of about \`size\` parents. A small \`spread\` leaves many of them without what points at them."""
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
`;
}

const DRIVE = `"""Runs the query in the subject on databases that are built there."""

import json
import unittest

from sandlot_subject import subject
from support import reference

BUILT = """
import json, pathlib, sqlite3, sys

order = json.load(sys.stdin)
query = pathlib.Path("/app/query.sql").read_text(encoding="utf-8")
said = []
for data in order["databases"]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(order["schema"])
    for name, rows in data.items():
        for row in rows:
            connection.execute(f"INSERT INTO {order['tables'][name]} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    found = connection.execute(query)
    columns = len(found.description or ())
    said.append({"rows": [list(row) for row in found], "columns": columns})
json.dump(said, sys.stdout)
"""


def asked_of(databases):
    """What the query gives for each of the databases."""
    order = {"databases": databases, "schema": reference.S["schema"], "tables": reference.S["tables"]}
    ran = subject.run(["python3", "-c", BUILT], stdin=json.dumps(order).encode(), timeout_ms=20_000)
    if ran.exit_code != 0:
        raise AssertionError(f"the query could not be run: {ran.stderr.decode(errors='replace')[-300:]}")
    return json.loads(ran.stdout)


class QueryCase(unittest.TestCase):
    def assert_rows(self, databases):
        self.assertTrue(databases)
        for data, said in zip(databases, asked_of(databases), strict=True):
            self.assertEqual(said["rows"], reference.rows_of(data), f"of {json.dumps(data)[:400]}")
`;

const UNIT = `"""The database that was given."""

from support import drive, reference


class TestGiven(drive.QueryCase):
    def test_rows(self):
        self.assert_rows([reference.S["given"]])

    def test_columns(self):
        said = drive.asked_of([reference.S["given"]])
        self.assertEqual(said[0]["columns"], reference.S["columns"])
`;

const INTEGRATION = `"""Databases that nobody has seen."""

from sandlot_subject import random
from support import drive, reference


class TestOtherData(drive.QueryCase):
    def test_other_rows(self):
        r = random("other rows")
        self.assert_rows([reference.draw(r, 8) for _ in range(12)])

    def test_larger_tables(self):
        r = random("larger tables")
        self.assert_rows([reference.draw(r, 60, days=40, values=500) for _ in range(2)])
`;

const BOUNDARY = `"""One matter at a time, in many small databases."""

from sandlot_subject import random
from support import drive, reference


class TestEdges(drive.QueryCase):
    def test_empty_tables(self):
        empty = {name: [] for name in reference.FIELDS}
        r = random("empty tables")
        some = [reference.draw(r, 3) for _ in range(6)]
        without_lines = [{**data, "lines": []} for data in some]
        without_events = [{**data, "events": [], "lines": []} for data in some]
        without_dates = [{**data, "events": [[*row[:2], None, row[3]] for row in data["events"]]} for data in some]
        self.assert_rows([empty, *without_lines, *without_events, *without_dates])

    def test_ties(self):
        r = random("ties")
        self.assert_rows([reference.draw(r, r.randrange(2, 5), nulls=0.02, days=5, values=3) for _ in range(120)])

    def test_missing_values(self):
        r = random("missing values")
        self.assert_rows([reference.draw(r, r.randrange(2, 5), nulls=0.4, days=5) for _ in range(120)])

    def test_rows_that_stand_alone(self):
        r = random("rows that stand alone")
        self.assert_rows([reference.draw(r, r.randrange(2, 6), spread=0.5) for _ in range(120)])
`;
