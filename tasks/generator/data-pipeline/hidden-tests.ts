/**
 * The hidden tests: days drawn at grading are laid out in the subject, the program is run there, and what it left in its
 * database is compared with a reference that reads the same bytes in a third way.
 */
import type { DraftFiles } from "../../../src/task/draft.ts";
import { REFERENCE } from "./reference-source.ts";
import { columnsOf, type Spec } from "./spec.ts";

export const TESTS = {
  unit: { file: "unit/test_given.py", of: "TestGiven", names: ["test_records", "test_daily", "test_database_left"] },
  integration: {
    file: "integration/test_other_days.py",
    of: "TestOtherDays",
    names: ["test_records", "test_daily", "test_rejects"],
  },
  boundary: {
    file: "boundary/test_edges.py",
    of: "TestEdges",
    names: [
      "test_bad_lines",
      "test_amounts",
      "test_times_and_days",
      "test_equal_keys",
      "test_unknown_groups",
      "test_summary_of_few",
      "test_second_run",
      "test_no_files",
    ],
  },
} as const;

export type Tier = keyof typeof TESTS;

export function testId(tier: Tier, name: string): string {
  return `${TESTS[tier].file}::${TESTS[tier].of}.${name}`;
}

/** `given` is what lies in the agent's folder, by name. */
export function hiddenTests(spec: Spec, given: Readonly<Record<string, string>>, reference: string): DraftFiles {
  const { world, lateDays } = spec;
  const settings = {
    ...spec,
    world: undefined,
    late_days: lateDays,
    columns: columnsOf(world),
    table: world.things,
    groups: world.groups,
    key_prefix: world.keyPrefix,
    areas: world.areas,
    group: world.group,
    area: world.area,
    unit: world.unit,
    part: world.part,
    notes: world.notes,
    given,
    given_reference: reference,
  };
  return {
    "support/settings.json": JSON.stringify(settings, null, 1),
    "support/reference.py": REFERENCE,
    "support/drive.py": DRIVE,
    [TESTS.unit.file]: UNIT,
    [TESTS.integration.file]: INTEGRATION,
    [TESTS.boundary.file]: BOUNDARY,
  };
}

const DRIVE = `"""Runs the program in the subject on a folder that is laid out there, and reads what it left."""

import base64
import json
import unittest

from sandlot_subject import subject
from support import reference

LAID_OUT = """
import base64, json, pathlib, shutil, sqlite3, subprocess, sys, tempfile

order = json.load(sys.stdin)
top = pathlib.Path(tempfile.mkdtemp(prefix="days-"))
(top / "reference.csv").write_text(order["reference"], encoding="utf-8")
database = top / "out.db" if order["database"] is None else pathlib.Path(order["database"])
codes = []
for files in order["runs"]:
    shutil.rmtree(top / "incoming", ignore_errors=True)
    (top / "incoming").mkdir()
    for name, body in files.items():
        (top / "incoming" / name).write_bytes(base64.b64decode(body))
    words = ["python3", "/app/pipeline.py", str(top / "incoming"), str(top / "reference.csv"), str(database)]
    codes.append(subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30).returncode)
said = {"codes": codes}
if database.exists():
    connection = sqlite3.connect(database)
    for name, table in (("records", order["table"]), ("daily", "daily"), ("rejects", "rejects")):
        said[name] = [list(row) for row in connection.execute(f"SELECT * FROM {table}")]
json.dump(said, sys.stdout)
"""


def left_by(runs, areas, database=None):
    """What lies in the database after a run on each of the folders; rows sorted."""
    order = {
        "runs": [{name: base64.b64encode(body).decode() for name, body in files.items()} for files in runs],
        "reference": areas,
        "table": reference.S["table"],
        "database": database,
    }
    ran = subject.run(["python3", "-c", LAID_OUT], stdin=json.dumps(order).encode(), timeout_ms=90_000)
    if ran.exit_code != 0:
        raise AssertionError(f"the database could not be read: {ran.stderr.decode(errors='replace')[-300:]}")
    said = json.loads(ran.stdout)
    for name in ("records", "daily", "rejects"):
        said[name] = sorted(said.get(name, [["no database"]]), key=repr)
    return said


class PipelineCase(unittest.TestCase):
    def assert_left(self, runs, areas, *names, database=None):
        said = left_by(runs, areas, database)
        self.assertEqual(said["codes"], [0] * len(runs), "exit codes")
        wanted = reference.expected(runs[-1] if runs else given(), reference.areas_of(areas))
        for name in names:
            self.assertEqual(said[name], sorted(wanted[name], key=repr), name)


def given():
    return {name: body.encode() for name, body in reference.S["given"].items()}
`;

const UNIT = `"""The days that were given."""

from support import drive, reference

AREAS = reference.S["given_reference"]


class TestGiven(drive.PipelineCase):
    def test_records(self):
        self.assert_left([drive.given()], AREAS, "records")

    def test_daily(self):
        self.assert_left([drive.given()], AREAS, "daily")

    def test_database_left(self):
        self.assert_left([], AREAS, "records", "daily", "rejects", database="/app/warehouse.db")
`;

const INTEGRATION = `"""Days that nobody has seen, with all that can be wrong with them."""

from sandlot_subject import random
from support import drive, reference


def folder_of(r):
    folder = reference.plain_days(r, 5, 12)
    names = reference.days(r, 1) + sorted(name.split(".")[0] for name in folder.files())
    for day in names[1:]:
        fields = folder.fields(day)
        folder.put(day, fields)
        folder.put(day, [*fields[:4], str(int(fields[4]) + r.randrange(-1, 2)), r.choice(["again", fields[5]])])
        folder.add(day, group=reference.S["groups"][-1])
        folder.raw(day, r.choice([b"?", b"\\xff\\xfe", b"[]"]))
    return folder.files()


class TestOtherDays(drive.PipelineCase):
    def assert_days(self, name):
        r = random(f"days {name}")
        areas = reference.draw_areas(r)
        for _ in range(2):
            self.assert_left([folder_of(r)], areas, name)

    def test_records(self):
        self.assert_days("records")

    def test_daily(self):
        self.assert_days("daily")

    def test_rejects(self):
        self.assert_days("rejects")
`;

const BOUNDARY = `"""One matter at a time, at its edges."""

from sandlot_subject import random
from support import drive, reference

S = reference.S
ALL = ("records", "daily", "rejects")


class TestEdges(drive.PipelineCase):
    def folder(self, name):
        r = random(name)
        return r, reference.Folder(r), reference.days(r, 4), reference.draw_areas(r)

    def test_bad_lines(self):
        r, folder, days, areas = self.folder("bad lines")
        for day in days:
            folder.add(day)
            folder.raw(day, b"")
            for raw in (b"\\xc3\\x28" * r.randrange(1, 4), b"nothing", b"{", b'{"note": "x"}', b"7", S["delimiter"].encode() * 5):
                folder.raw(day, raw)
            folder.put(day, ["", *folder.fields(day)[1:]])
            folder.put(day, [*folder.fields(day)[:4], r.choice(["", "-1", "1.0", "1234567890"]), "x"])
            folder.put(day, [*folder.fields(day)[:2], "yesterday", "much", "1", "x"])
            folder.add(day)
        self.assert_left([folder.files()], areas, *ALL)

    def test_amounts(self):
        r, folder, days, areas = self.folder("amounts")
        for hundredths in (29, 115, 435, 1999, 0, -1, -105, 57, 10**13 + 7, r.randrange(10**6)):
            folder.add(days[0], hundredths=hundredths)
        mark = "," if S["amount"] == "comma" else "."
        unit = f" {S['unit']}" if S["amount"] == "unit" else ""
        for text in ("", "1" + mark, mark + "5", "1" + mark + "234", "1e3", " 1", "1 ", "+1", "--1", "1;5", "\\u0663", "nan"):
            folder.add(days[0], amount=text + unit)
        for text in ("1", "1.5 " + S["part"], "1  " + S["unit"], S["unit"]) if unit else ("1 x", "1" + mark + "2" + mark + "3"):
            folder.add(days[0], amount=text)
        self.assert_left([folder.files()], areas, *ALL)

    def test_times_and_days(self):
        r, folder, days, areas = self.folder("times")
        start = int((reference.datetime.strptime(days[1], "%Y-%m-%d").replace(tzinfo=reference.timezone.utc) - reference.EPOCH).total_seconds())
        for minutes in (0, 1, 59, 24 * 60 - 1, -1, 24 * 60, r.randrange(60, 180), r.randrange(21 * 60, 23 * 60)):
            for _ in range(3):
                folder.add(days[1], seconds=start + minutes * 60)
        for step in range(-5, 6):
            folder.add(days[1], seconds=start + step * 86_400)
            folder.add(days[1], seconds=start + step * 86_400 + 86_340)
        for text in ("", "2024-02-30T10:00:00Z", "30.02.2024 10:00", "2024-03-05 10:00:00Z", "1.3.2024 10:00", "-5", "12345678901", "1.5"):
            folder.add(days[1], when=text)
        self.assert_left([folder.files()], areas, *ALL)

    def test_equal_keys(self):
        r, folder, days, areas = self.folder("equal keys")
        for place, revisions in enumerate(((3, 3), (2, 5, 4), (10, 9), (1, 1, 1))):
            for order, revision in enumerate(revisions):
                day = days[order % len(days)]
                folder.add(day, key=f"K-{place}", revision=revision, hundredths=100 * place + order)
        fields = folder.fields(days[0], key="K-same")
        folder.put(days[0], fields)
        folder.put(days[0], fields)
        fields = folder.fields(days[1], key="K-note", note="one")
        folder.put(days[1], fields)
        folder.put(days[1], [*fields[:5], "two"])
        folder.add(days[2], key="K-bad", revision=9, amount="?")
        folder.add(days[3], key="K-bad", revision=1)
        self.assert_left([folder.files()], areas, *ALL)

    def test_unknown_groups(self):
        r, folder, days, areas = self.folder("unknown groups")
        for day in days:
            for group in (S["groups"][-1], "", S["groups"][0].upper(), f" {S['groups'][0]}", S["groups"][0]):
                folder.add(day, group=group)
        self.assert_left([folder.files()], areas, *ALL)

    def test_summary_of_few(self):
        r, folder, days, areas = self.folder("few")
        group = S["groups"][0]
        for size, day in enumerate(days, 1):
            low = r.randrange(-9_000, -5_000)
            start = folder.fields(day)[2]
            for step in r.sample(range(size), size):
                folder.add(day, group=group, hundredths=low + 700 * step, when=start)
        self.assert_left([folder.files()], areas, "daily")

    def test_second_run(self):
        r = random("second run")
        areas = reference.draw_areas(r)
        first = reference.plain_days(r, 3, 6)
        before = first.files()
        day = sorted(before)[0].split(".")[0]
        first.add(day)
        first.raw(day, b"nothing")
        after = {**first.files(), "readme.txt": b"not data\\n"}
        after.pop(sorted(before)[-1])
        self.assert_left([before, before], areas, *ALL)
        self.assert_left([before, after], areas, *ALL)

    def test_no_files(self):
        r = random("no files")
        areas = reference.draw_areas(r)
        self.assert_left([{}], areas, *ALL)
        name = reference.Folder(r).name_of(reference.days(r, 1)[0])
        head = S["delimiter"].join(S["columns"]).encode() if name.endswith(".csv") else b""
        self.assert_left([{name: head}, {"notes.md": b"x"}], areas, *ALL)
`;
