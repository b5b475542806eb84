/**
 * `data-pipeline`: load days of records into a database, under rules that are drawn: how files, times and amounts are
 * written, which of equal keys stays, what is rejected and why, what is summed. Graded on folders that nobody has seen.
 */
import type { Random } from "../../../src/core/random.ts";
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftSolution, type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { type FlawedProgram, flawsOf } from "./flaws.ts";
import { drawGiven, type Given } from "./given.ts";
import { hiddenTests, TESTS, type Tier, testId } from "./hidden-tests.ts";
import { instructionOf } from "./instruction.ts";
import { dictionaryProgram, queryProgram } from "./program.ts";
import { drawSpec, type Spec } from "./spec.ts";

/** Of the flawed programs that fit, how many a task ships beside the two that every task has. */
const FLAWED = 5;
const WEIGHTS: Readonly<Record<Tier, number>> = { unit: 0.3, integration: 0.3, boundary: 0.4 };

export const generator: FolderGenerator = {
  name: "data-pipeline",
  family: "data-pipeline",
  version: 1,
  dials: {
    rules: { min: 1, max: 5, step: 1, meaning: "how many rules are likely to take their harder reading" },
    days: { min: 2, max: 8, step: 2, meaning: "days in the folder that is given" },
  },
  draw({ dials, random }) {
    const { rules = 3, days = 4 } = dials;
    const spec = drawSpec(random, rules);
    const given = drawGiven(random.fork("given"), spec, days);
    return drawnFolder({
      slug: `${spec.world.id}-${spec.duplicates}`,
      config: configOf(spec, rules, days),
      instruction: instructionOf(spec),
      image: {
        base: "host",
        programs: ["bash", "python3"],
        files: [
          { source: "incoming", target: "/app/incoming" },
          { source: "reference.csv", target: "/app/reference.csv" },
        ],
      },
      setup: "chown -R 1000:1000 /app",
      environment: {
        "reference.csv": given.reference,
        ...Object.fromEntries(Object.entries(given.files).map(([name, text]) => [`incoming/${name}`, text])),
      },
      tests: hiddenTests(spec, given.files, given.reference),
      solution: solutionOf(dictionaryProgram(spec)),
      alternatives: { queries: solutionOf(queryProgram(spec)) },
      wrong: wrongOf(spec, given, random.fork("wrong")),
    });
  },
};

const RUN = "python3 /app/pipeline.py /app/incoming /app/reference.csv /app/warehouse.db";

function scriptOf(program: string): string {
  return `cat > /app/pipeline.py <<'PROGRAM'\n${program}PROGRAM\n${RUN}\n`;
}

const solutionOf = (program: string): DraftSolution => ({ solve: `set -e\n${scriptOf(program)}` });

function wrongOf(spec: Spec, given: Given, random: Random): Readonly<Record<string, DraftWrong>> {
  const right = dictionaryProgram(spec);
  const flawed = random.shuffle(flawsOf(spec)).slice(0, FLAWED);
  return {
    "database-alone": {
      solve: `${scriptOf(right)}rm /app/pipeline.py\n`,
      rewardMax: rounded(WEIGHTS.unit / TESTS.unit.names.length),
      failsTier: "integration",
    },
    "given-days-by-heart": {
      solve: `${scriptOf(right)}${byHeart(given)}`,
      // Its empty tables are what no files should give.
      rewardMax: rounded(WEIGHTS.unit + WEIGHTS.boundary / TESTS.boundary.names.length),
      failsTier: "integration",
    },
    ...Object.fromEntries(flawed.map((flaw) => [flaw.name, flawedSolution(spec, flaw)])),
  };
}

/** A program that knows the days it was shown, and leaves empty tables for any other. */
function byHeart({ files }: Given): string {
  const names = JSON.stringify(Object.keys(files).sort());
  return `python3 - <<'MAKE'
import base64
from pathlib import Path

known = base64.b64encode(Path("/app/warehouse.db").read_bytes()).decode()
Path("/app/pipeline.py").write_text(f"""import base64
import os
import sqlite3
import sys
from pathlib import Path

Path(sys.argv[3]).write_bytes(base64.b64decode("{known}"))
if sorted(os.listdir(sys.argv[1])) != ${names}:
    with sqlite3.connect(sys.argv[3]) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            connection.execute("DELETE FROM " + table)
""")
MAKE
${RUN}
`;
}

function flawedSolution(spec: Spec, { pieces, fails }: FlawedProgram): DraftWrong {
  const share = fails.length / TESTS.boundary.names.length;
  return {
    solve: scriptOf(dictionaryProgram(spec, pieces)),
    rewardMax: rounded(1 - WEIGHTS.boundary * share),
    failsTier: "boundary",
  };
}

function rounded(value: number): number {
  return Math.ceil(value * 1_000) / 1_000;
}

const TEXTS: Readonly<Record<string, string>> = {
  test_records: "The records of other days are kept as stated.",
  test_daily: "Each day and area is counted and summed.",
  test_rejects: "Lines that cannot be used are rejected with file, line and reason.",
  test_database_left: "The given days lie in the database that was asked for.",
  test_bad_lines: "Lines that are no records are rejected by the first reason that holds, and nothing else suffers.",
  test_amounts: "Amounts are exact, and those that are not as stated are rejected.",
  test_times_and_days:
    "Times become UTC, days follow from them, and those that do not exist or are too late are rejected.",
  test_equal_keys: "Of equal keys the stated one is kept.",
  test_unknown_groups: "Groups that the reference lacks are treated as stated.",
  test_summary_of_few: "The summary holds for one record, for two, and for negative amounts.",
  test_second_run: "A second run leaves what the folder then holds.",
  test_no_files: "Without records the tables are there and empty.",
};

function configOf({ world }: Spec, rules: number, days: number): Readonly<Record<string, unknown>> {
  const { unit, integration, boundary } = TESTS;
  const requirement = (id: string, name: string, kind: string, tests: readonly string[]) => ({
    id,
    text: TEXTS[name],
    kind,
    tests,
  });
  return {
    task: {
      description: `Load days of ${world.things} into a database, cleaned, joined, summed and ready for the next run.`,
      keywords: ["data", "pipeline", "sqlite", world.id],
    },
    agent: { timeout_sec: 1200 },
    verifier: { timeout_sec: 300 },
    environment: { cpus: 1, memory_mb: 256, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "data-pipeline",
      difficulty: { level: rules, dials: { rules, days } },
      limits: { turns: 40, command_sec: 60 },
      contract: {
        files: [
          { path: "/app/pipeline.py", required: true, bytes_max: 262_144 },
          { path: "/app/warehouse.db", required: true, bytes_max: 4_194_304 },
        ],
      },
      tiers: (["unit", "integration", "boundary"] as const).map((name) => ({ name, weight: WEIGHTS[name] })),
      milestones: [
        { name: "program-written", predicate: { file: "/app/pipeline.py", bytes_min: 1 } },
        { name: "given-days-loaded", predicate: { file: "/app/warehouse.db", bytes_min: 1 } },
      ],
      requirements: [
        requirement("records", "test_records", "functional", [
          testId("unit", unit.names[0]),
          testId("integration", integration.names[0]),
        ]),
        requirement("daily", "test_daily", "functional", [
          testId("unit", unit.names[1]),
          testId("integration", integration.names[1]),
        ]),
        requirement("database-left", "test_database_left", "functional", [testId("unit", unit.names[2])]),
        requirement("rejects", "test_rejects", "functional", [testId("integration", integration.names[2])]),
        ...boundary.names.map((name) =>
          requirement(name.slice(5).replaceAll("_", "-"), name, "boundary", [testId("boundary", name)]),
        ),
      ],
    },
  };
}
