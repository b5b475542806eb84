/**
 * `sql-query`: one query for a question, asked of a SQLite database in the words of a trade, and graded on databases
 * that nobody has seen: ties, NULLs, rows that nothing points at, empty tables.
 */
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { COUNTING } from "./counting-questions.ts";
import { hiddenTests, TESTS, type Tier, testId } from "./hidden-tests.ts";
import { ORDER } from "./order-questions.ts";
import type { Question } from "./question.ts";
import { type Data, drawData, SCHEMA, said, WORLDS, type World } from "./world.ts";

const QUESTIONS: readonly Question[] = [...COUNTING, ...ORDER].toSorted((a, b) => a.level - b.level);
const WEIGHTS: Readonly<Record<Tier, number>> = { unit: 0.3, integration: 0.3, boundary: 0.4 };

export const generator: FolderGenerator = {
  name: "sql-query",
  family: "sql-query",
  version: 1,
  dials: {
    level: {
      min: 1,
      max: 4,
      step: 1,
      meaning: "how hard the question is",
    },
    rows: { min: 1, max: 3, step: 1, meaning: "how large the given tables are" },
  },
  draw({ dials: { level = 2, rows = 2 }, random }) {
    const question = random.fork("structure").pick(QUESTIONS.filter((one) => one.level === level));
    const world = random.fork("surface").pick(WORLDS);
    const given = drawData(random.fork("given"), world, rows);
    return drawnFolder({
      slug: `${world.id}-${question.id}`,
      config: configOf(question, world, level, rows),
      instruction: instructionOf(question, world),
      image: {
        base: "host",
        programs: ["bash", "python3"],
        files: [
          { source: "schema.sql", target: "/app/schema.sql" },
          { source: "data.sql", target: "/app/data.sql" },
          { source: "ask.py", target: "/app/ask.py" },
        ],
      },
      setup: SETUP,
      environment: { "schema.sql": said(SCHEMA, world), "data.sql": insertsOf(given, world), "ask.py": ASK },
      tests: hiddenTests(question, world, given),
      solution: { solve: scriptOf(said(question.oracle, world)) },
      alternatives: { "another-way": { solve: scriptOf(said(question.other, world)) } },
      wrong: wrongOf(question, world),
    });
  },
};

const SETUP = `python3 - <<'BUILD'
import sqlite3
from pathlib import Path

with sqlite3.connect("/app/data.db") as connection:
    connection.executescript(Path("/app/schema.sql").read_text(encoding="utf-8"))
    connection.executescript(Path("/app/data.sql").read_text(encoding="utf-8"))
BUILD
chown -R 1000:1000 /app`;

const ASK = `"""Prints what a query gives: python3 /app/ask.py QUERY_FILE [DATABASE]"""

import sqlite3
import sys
from pathlib import Path

connection = sqlite3.connect(sys.argv[2] if len(sys.argv) > 2 else "/app/data.db")
found = connection.execute(Path(sys.argv[1]).read_text(encoding="utf-8"))
print(" | ".join(column[0] for column in found.description))
for row in found:
    print(" | ".join("NULL" if value is None else str(value) for value in row))
`;

function insertsOf(data: Data, world: World): string {
  const literal = (value: string | number | null): string =>
    value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
  return Object.entries(data)
    .flatMap(([name, rows]: [string, Data["lines"]]) =>
      rows.map((row) => `INSERT INTO ${said(`Q${name}`, world)} VALUES (${row.map(literal).join(", ")});`),
    )
    .join("\n");
}

function instructionOf(question: Question, world: World): string {
  const listed = question.columns.map((name) => `\`${said(name, world)}\``).join(", ");
  return `# ${prose(question.title, world)}

\`/app/data.db\` is a SQLite database. Its tables are in \`/app/schema.sql\`, what it holds in \`/app/data.sql\`. Write one query that answers
the question below into \`/app/query.sql\`.

## The question

${prose(question.text, world)}

The columns are, in this order: ${listed}. Only the order of columns and rows and the values count, not the names of columns.

## What counts

- The file holds one statement, beginning with \`SELECT\` or \`WITH\`. It changes nothing, and uses nothing but the four tables.
- It is run on the given database and on others with the same tables and other rows, some with hundreds: tables may be empty, values may be
  equal, columns that allow NULL may hold it, and rows may be there that no other row points at. Dates are texts such as \`2024-03-05\`,
  \`quantity\` and \`price\` are whole numbers of at least 0. References lead to rows that are there.
- The SQLite is that of Python's \`sqlite3\`. \`python3 /app/ask.py /app/query.sql\` prints what your query gives for the given database.
`;
}

/** In the words of the world, with the article that each of them has. */
function prose(text: string, world: World): string {
  return said(text, world).replaceAll(/\b([Aa]) (?=`?[aeiou])/g, "$1n ");
}

function scriptOf(sql: string): string {
  return `cat > /app/query.sql <<'QUERY'\n${sql}\nQUERY\n`;
}

function wrongOf(question: Question, world: World): Readonly<Record<string, DraftWrong>> {
  const right = said(question.oracle, world);
  return {
    "given-rows-by-heart": {
      solve: `${scriptOf(right)}${BY_HEART}`,
      rewardMax: WEIGHTS.unit,
      failsTier: "integration",
    },
    "no-rows": {
      solve: scriptOf(`SELECT * FROM (\n${right}\n) WHERE 0`),
      // The number of columns is right, and so is the answer where all tables are empty.
      rewardMax: rounded(WEIGHTS.unit / 2 + WEIGHTS.boundary / TESTS.boundary.names.length),
      failsTier: "integration",
    },
    ...Object.fromEntries(
      question.wrong.map(({ name, sql }): [string, DraftWrong] => [
        name,
        {
          solve: scriptOf(said(sql, world)),
          rewardMax: rounded(1 - WEIGHTS.boundary / TESTS.boundary.names.length),
          failsTier: "boundary",
        },
      ]),
    ),
  };
}

/** Turns the query into the rows that it gives for the given database. */
const BY_HEART = `python3 - <<'KNOW'
import sqlite3
from pathlib import Path

file = Path("/app/query.sql")
found = sqlite3.connect("/app/data.db").execute(file.read_text())
width, rows = len(found.description), found.fetchall()


def literal(value):
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


known = ["SELECT " + ", ".join(map(literal, row)) for row in rows]
file.write_text(" UNION ALL ".join(known) if known else "SELECT " + ", ".join(["1"] * width) + " WHERE 0")
KNOW
`;

function rounded(value: number): number {
  return Math.ceil(value * 1_000) / 1_000;
}

function configOf({ id }: Question, world: World, level: number, rows: number): Readonly<Record<string, unknown>> {
  const { unit, integration, boundary } = TESTS;
  return {
    task: {
      description: `One SQL query for a question about a ${world.id}: ${id.replaceAll("-", " ")}.`,
      keywords: ["sql", "sqlite", id, world.id],
    },
    agent: { timeout_sec: 600 },
    verifier: { timeout_sec: 180 },
    environment: { cpus: 1, memory_mb: 256, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "sql-query",
      difficulty: { level, dials: { level, rows } },
      limits: { turns: 30, command_sec: 60 },
      contract: { files: [{ path: "/app/query.sql", required: true, bytes_max: 65_536 }] },
      tiers: (["unit", "integration", "boundary"] as const).map((name) => ({ name, weight: WEIGHTS[name] })),
      requirements: [
        {
          id: "answers-the-question",
          text: "The query gives the rows that the question asks for, in the stated order, also on other databases.",
          kind: "functional",
          tests: [testId("unit", unit.names[0]), ...integration.names.map((name) => testId("integration", name))],
        },
        {
          id: "columns",
          text: "The query gives the stated number of columns.",
          kind: "functional",
          tests: [testId("unit", unit.names[1])],
        },
        ...boundary.names.map((name) => ({
          id: name.slice(5).replaceAll("_", "-"),
          text: `The answer holds with ${name.slice(5).replaceAll("_", " ")}.`,
          kind: "boundary",
          tests: [testId("boundary", name)],
        })),
      ],
    },
  };
}
