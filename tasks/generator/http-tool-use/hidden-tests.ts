/**
 * The hidden tests: the whole data base is compared with the rows it began with and the rows that were wanted. Free are
 * the ids of new rows, the version of a row that had to change, and the prose of notes.
 */
import type { DraftFiles } from "../../../src/task/draft.ts";
import { type DrawnRequest, PAGE, type Wanted } from "./request.ts";

export interface HiddenTest {
  readonly tier: "unit" | "integration" | "boundary";
  readonly method: string;
  readonly requirement: string;
}

/** The wanted rows by the test that asks for them: what is plain is of tier unit, the rest of tier boundary. */
export interface Sorted {
  /** By aspect, of records on the first page that nothing happens to. */
  readonly plain: ReadonlyMap<string, readonly Wanted[]>;
  readonly later: readonly Wanted[];
  readonly edges: readonly Wanted[];
  readonly edited: readonly Wanted[];
  readonly lost: readonly Wanted[];
}

/** Sorts what is wanted; each row is asked for by one test, but those of lost answers, which must also be there once. */
export function sortedWanted(drawn: DrawnRequest): Sorted {
  const { wanted, tables, main, edges, edited, faults } = drawn;
  const firstPage = new Set((tables[main] ?? []).slice(0, PAGE).map(({ id }) => id));
  const isLost = ({ id, fields }: Wanted): boolean =>
    id === null &&
    faults.losses.some(({ where }) =>
      Object.entries(where).every(([field, value]) => JSON.stringify(fields[field]) === JSON.stringify(value)),
    );
  const lost = wanted.filter(isLost);
  const others = wanted.filter((row) => !isLost(row));
  const ofEdited = others.filter(({ about }) => edited.includes(about));
  const ofEdges = others.filter(({ about }) => !edited.includes(about) && edges.includes(about));
  const rest = others.filter(({ about }) => !edited.includes(about) && !edges.includes(about));
  const plain = new Map<string, Wanted[]>();
  for (const row of rest.filter(({ about }) => firstPage.has(about))) {
    plain.set(row.aspect, [...(plain.get(row.aspect) ?? []), row]);
  }
  return { plain, later: rest.filter(({ about }) => !firstPage.has(about)), edges: ofEdges, edited: ofEdited, lost };
}

/** The tests a draw has; each with the requirement it holds. */
export function testsOf(sorted: Sorted): readonly HiddenTest[] {
  const boundary = (method: string, rows: readonly Wanted[], requirement: string): readonly HiddenTest[] =>
    rows.length === 0 ? [] : [{ tier: "boundary", method, requirement }];
  return [
    ...[...sorted.plain.keys()].sort().map(
      (aspect): HiddenTest => ({
        tier: "unit",
        method: `test_${aspect.replaceAll("-", "_")}`,
        requirement: `The ${aspect.replaceAll("-", " ")} that request and policy call for are there.`,
      }),
    ),
    ...boundary("test_later_pages", sorted.later, "Records on later pages are treated like those on the first."),
    ...boundary("test_edges", sorted.edges, "Records at the stated edge of a rule fall on its right side."),
    ...boundary("test_edited", sorted.edited, "What a colleague changed meanwhile stays, and is taken into account."),
    ...boundary("test_lost_answers", sorted.lost, "A write whose answer was lost is done, and done once."),
    { tier: "boundary", method: "test_nothing_is_done_twice", requirement: "Nothing that was wanted is there twice." },
    { tier: "integration", method: "test_no_row_is_gone", requirement: "No row is removed." },
    {
      tier: "integration",
      method: "test_other_rows_are_as_they_were",
      requirement: "Records that nothing is called for are as they were, to the version.",
    },
    {
      tier: "integration",
      method: "test_no_other_field_is_changed",
      requirement: "Of a record that had to change, no other field did.",
    },
    {
      tier: "integration",
      method: "test_nothing_else_is_new",
      requirement: "Nothing is made but what request and policy call for.",
    },
  ];
}

export function testId({ tier, method }: HiddenTest): string {
  return `${tier}/test_${tier}.py::Test${tier[0]?.toUpperCase()}${tier.slice(1)}.${method}`;
}

/** The files below `tests/`. */
export function hiddenTests(drawn: DrawnRequest, sorted: Sorted, database: string): DraftFiles {
  const groups: Record<string, readonly Wanted[]> = {
    ...Object.fromEntries([...sorted.plain].map(([aspect, rows]) => [aspect, rows])),
    later_pages: sorted.later,
    edges: sorted.edges,
    edited: sorted.edited,
    lost_answers: sorted.lost,
  };
  const tests = testsOf(sorted);
  const present = (tier: string): string =>
    tests
      .filter((test) => test.tier === tier && test.method.slice(5) !== "nothing_is_done_twice")
      .map(({ method }) => {
        const group = Object.keys(groups).find((name) => `test_${name.replaceAll("-", "_")}` === method);
        const exactly = method === "test_lost_answers" ? ", times=1" : "";
        return `    def ${method}(self):\n        self.assertEqual(state.missing("${group}"${exactly}), [])\n`;
      })
      .join("\n");
  return {
    "support/before.json": JSON.stringify(drawn.tables, null, 1),
    "support/wanted.json": JSON.stringify(groups, null, 1),
    "support/state.py": stateModule(drawn.world.name, database),
    "unit/test_unit.py": `"""What a clerk does who meets nothing unusual."""\nimport unittest\n\nfrom support import state\n\n\nclass TestUnit(unittest.TestCase):\n${present("unit")}`,
    "boundary/test_boundary.py": `"""Later pages, edges of rules, records that changed meanwhile, and answers that were lost."""\nimport unittest\n\nfrom support import state\n\n\nclass TestBoundary(unittest.TestCase):\n${present("boundary")}\n${TWICE}`,
    "integration/test_integration.py": INTEGRATION,
  };
}

const TWICE = `    def test_nothing_is_done_twice(self):
        done = state.times_done()
        self.assertGreater(sum(done), 0, "nothing that was wanted has been made")
        self.assertLessEqual(max(done), 1)
`;

const INTEGRATION = `"""What must not have happened: damage of any kind."""
import unittest

from support import state


class TestIntegration(unittest.TestCase):
    def test_no_row_is_gone(self):
        self.assertEqual(state.gone(), [])

    def test_other_rows_are_as_they_were(self):
        self.assertEqual(state.disturbed(), [])

    def test_no_other_field_is_changed(self):
        self.assertEqual(state.overwritten(), [])

    def test_nothing_else_is_new(self):
        self.assertEqual(state.uncalled(), [])
`;

function stateModule(world: string, database: string): string {
  return `"""The rows of the ${world} desk: as they began, as they were wanted, and as they are."""
import json
import pathlib
import sqlite3

from sandlot_subject import artifacts

HERE = pathlib.Path(__file__).parent
BEFORE = {
    table: {row["id"]: {**row, "version": row.get("version", 1)} for row in rows}
    for table, rows in json.loads((HERE / "before.json").read_text(encoding="utf-8")).items()
}
WANTED = json.loads((HERE / "wanted.json").read_text(encoding="utf-8"))
ALL = [row for rows in WANTED.values() for row in rows]
# Ids are the server's, versions follow from the writes, and nobody is told what to write in a note.
FREE = {"id", "version", "body"}


def after():
    path = artifacts / "${database.slice(1)}"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    tables = {table: {row["id"]: dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')} for table in BEFORE}
    connection.close()
    for table, rows in tables.items():
        for row in rows.values():
            for field in row:
                if is_packed(table, field):
                    row[field] = json.loads(row[field])
    return tables


def is_packed(table, field):
    """Lists are kept as JSON."""
    known = [*BEFORE[table].values(), *(row["fields"] for row in ALL if row["table"] == table)]
    return any(isinstance(row.get(field), list) for row in known)


def fits(row, wanted):
    return all(row.get(field) == value for field, value in wanted["fields"].items())


def made(tables, wanted):
    """The new rows that are what was wanted."""
    rows = tables[wanted["table"]]
    return [key for key, row in rows.items() if key not in BEFORE[wanted["table"]] and fits(row, wanted)]


def missing(group, times=None):
    """What was wanted of this group and is not there."""
    tables = after()
    absent = []
    for wanted in WANTED[group]:
        if wanted["id"] is None:
            count = len(made(tables, wanted))
            is_there = count >= 1 if times is None else count == times
        else:
            row = tables[wanted["table"]].get(wanted["id"])
            is_there = row is not None and fits(row, wanted)
        if not is_there:
            absent.append((wanted["about"], wanted["aspect"]))
    return absent


def times_done():
    tables = after()
    return [len(made(tables, wanted)) for wanted in ALL if wanted["id"] is None]


def gone():
    tables = after()
    return [f"{table}/{key}" for table, rows in BEFORE.items() for key in rows if key not in tables[table]]


def changes_wanted():
    wanted = {}
    for row in ALL:
        if row["id"] is not None:
            wanted.setdefault((row["table"], row["id"]), set()).update(row["fields"])
    return wanted


def disturbed():
    """Rows that nothing was wanted of and that are not as they began."""
    tables, wanted = after(), changes_wanted()
    return [
        f"{table}/{key}"
        for table, rows in BEFORE.items()
        for key, row in rows.items()
        if (table, key) not in wanted and key in tables[table] and tables[table][key] != row
    ]


def overwritten():
    """Fields that changed in a row of which others were wanted to."""
    tables = after()
    return [
        f"{table}/{key}: {field}"
        for (table, key), fields in changes_wanted().items()
        for field, value in BEFORE[table][key].items()
        if field not in fields | {"version"} and key in tables[table] and tables[table][key][field] != value
    ]


def uncalled():
    """New rows that are none of the wanted; one that is there twice is the matter of another test."""
    tables = after()
    called = {(row["table"], key) for row in ALL if row["id"] is None for key in made(tables, row)}
    return [
        f"{table}/{key}"
        for table, rows in tables.items()
        for key in rows
        if key not in BEFORE[table] and (table, key) not in called
    ]
`;
}
