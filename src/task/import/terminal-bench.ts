/**
 * Terminal-Bench 1: a folder with `task.yaml`, a Dockerfile, `run-tests.sh`, `solution.sh` and tests. Its tests run where
 * the agent worked; here they run on what it left, in a clean sandbox, by the one command the folder names.
 */
import { join } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { type DraftFiles, drawnFolder } from "../draft.ts";
import { taskInvalid } from "../problem.ts";
import {
  type Imported,
  type ImportedTask,
  type Importer,
  type ImportNote,
  type SkippedTask,
  slugOf,
} from "./import-contract.ts";
import { filesBelow, isFolder, namesIn, requiredText, textIfThere } from "./read-source.ts";

const PARSERS = ["pytest"];
const KNOWN = new Set([
  ...["instruction", "author_name", "author_email", "difficulty", "category", "tags", "parser_name"],
  ...["max_agent_timeout_sec", "max_test_timeout_sec", "run_tests_in_same_shell", "disable_asciinema"],
  ...["estimated_duration_sec", "expert_time_estimate_min", "junior_time_estimate_min"],
]);
const LEVELS: Readonly<Record<string, number>> = { easy: 2, medium: 3, hard: 4 };

export const terminalBench: Importer = {
  format: "terminal-bench",
  title: "a Terminal-Bench 1 task, or a folder of them",
  detects: (path) => foldersOf(path).length > 0,
  read: async (path, { licence }): Promise<Imported> => {
    const tasks: ImportedTask[] = [];
    const skipped: SkippedTask[] = [];
    for (const folder of foldersOf(path)) {
      const task = taskOf(folder, licence);
      if (typeof task === "string") skipped.push({ name: nameOf(folder), line: null, reason: task });
      else tasks.push(task);
    }
    return { tasks, skipped };
  },
};

function foldersOf(path: string): readonly string[] {
  const isTask = (folder: string): boolean => textIfThere(join(folder, "task.yaml")) !== null;
  if (isTask(path)) return [path];
  return namesIn(path)
    .map((name) => join(path, name))
    .filter((folder) => isFolder(folder) && isTask(folder));
}

function nameOf(folder: string): string {
  return folder.split("/").filter(Boolean).at(-1) ?? "task";
}

interface Yaml {
  readonly values: Readonly<Record<string, unknown>>;
  lineOf(key: string): number | null;
}

function yamlOf(folder: string): Yaml {
  const file = join(folder, "task.yaml");
  const counter = new LineCounter();
  const document = parseDocument(requiredText(file, "a Terminal-Bench task"), { lineCounter: counter });
  const [problem] = document.errors;
  const values: unknown = problem === undefined ? document.toJS({ maxAliasCount: 16 }) : null;
  if (problem !== undefined || typeof values !== "object" || values === null) {
    const line = problem?.linePos?.[0].line ?? 1;
    const message = `is no YAML table (${problem?.message.split("\n")[0] ?? "it is a single value"})`;
    throw taskInvalid({ file, line, message, remedy: "mend the file before it is imported" });
  }
  return {
    values: values as Yaml["values"],
    lineOf: (key) => {
      const { contents } = document;
      const items = contents !== null && "items" in contents ? (contents.items as unknown[]) : [];
      for (const item of items) {
        const { key: node } = item as {
          readonly key?: { readonly value?: unknown; readonly range?: readonly number[] };
        };
        if (node?.value === key) return counter.linePos(node.range?.[0] ?? 0).line;
      }
      return null;
    },
  };
}

function taskOf(folder: string, licence: string | null): ImportedTask | string {
  const yaml = yamlOf(folder);
  const { values } = yaml;
  const instruction = values["instruction"];
  if (typeof instruction !== "string" || instruction.trim() === "") return "Its task.yaml has no instruction.";
  const parser = values["parser_name"] ?? "pytest";
  if (!PARSERS.includes(String(parser)))
    return `Its parser_name is ${String(parser)}; only ${PARSERS.join(", ")} is carried.`;
  const solution = textIfThere(join(folder, "solution.sh"));
  if (solution === null) return "It has no solution.sh; a solution of keys pressed is not carried.";
  if (textIfThere(join(folder, "run-tests.sh")) === null) return "It has no run-tests.sh.";
  const environment = filesBelow(folder, (path) =>
    /^(tests|solution\.(sh|yaml)|task\.yaml|run-tests\.sh)(\/|$)/.test(path),
  );
  const tags = Array.isArray(values["tags"]) ? values["tags"].map(String) : [];
  const drawn = drawnFolder({
    slug: slugOf(nameOf(folder)),
    config: {
      source: `terminal-bench/${nameOf(folder)}`,
      task: {
        description: String(values["category"] ?? "A terminal task."),
        keywords: tags,
        authors: authorsOf(values),
      },
      metadata: { origin: "terminal-bench", ...(licence === null ? {} : { licence }) },
      agent: { timeout_sec: secondsOf(values["max_agent_timeout_sec"], 900) },
      verifier: { timeout_sec: secondsOf(values["max_test_timeout_sec"], 600) },
      sandlot: {
        family: "imported-terminal-bench",
        risk: ["in-process-tests"],
        difficulty: { level: LEVELS[String(values["difficulty"])] ?? 3 },
        tiers: [{ name: "unit", runner: "reward-file" }],
      },
    },
    instruction,
    image: { base: "host", programs: ["bash", "python3"] },
    // Set-up begins in the work folder, all of which such tasks expect to be the agent's.
    setup: "chown -R 1000:1000 .",
    environment,
    tests: { ...testFiles(folder), "unit/test.sh": { program: TEST_SCRIPT } },
    solution: { solve: solution },
    alternatives: {},
    wrong: { nothing: { solve: "true", rewardMax: 0, failsTier: "unit" } },
  });
  return { drawn: withoutImage(drawn, environment), notes: notesOf(yaml, environment) };
}

/** A Dockerfile says what the environment is; the image.toml of a draft would win over it. */
function withoutImage(drawn: ImportedTask["drawn"], environment: DraftFiles): ImportedTask["drawn"] {
  if (environment["Dockerfile"] === undefined) return drawn;
  return { ...drawn, files: drawn.files.filter(({ path }) => path !== "environment/image.toml") };
}

function testFiles(folder: string): DraftFiles {
  const below = Object.entries(filesBelow(join(folder, "tests"))).map(([path, bytes]) => [
    `support/tests/${path}`,
    bytes,
  ]);
  const run = { program: requiredText(join(folder, "run-tests.sh"), "a Terminal-Bench task") };
  return { ...Object.fromEntries(below), "support/run-tests.sh": run };
}

const TEST_SCRIPT = `#!/bin/bash
# Runs the tests of the imported task and writes what they decided.
export TEST_DIR=/tests/support/tests
mkdir -p /logs/verifier
if bash /tests/support/run-tests.sh; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
`;

function authorsOf(values: Yaml["values"]) {
  const { author_name: name, author_email: email } = values;
  if (typeof name !== "string") return [];
  return [{ name, ...(typeof email === "string" ? { email } : {}) }];
}

function secondsOf(value: unknown, otherwise: number): number {
  return typeof value === "number" && value > 0 ? value : otherwise;
}

function notesOf({ values, lineOf }: Yaml, environment: DraftFiles): readonly ImportNote[] {
  const unknown = Object.keys(values)
    .filter((key) => !KNOWN.has(key))
    .map((field): ImportNote => ({ kind: "unknown", field, line: lineOf(field), text: "is no field of this format" }));
  const dropped = ["run_tests_in_same_shell", "disable_asciinema"]
    .filter((key) => values[key] !== undefined)
    .map(
      (field): ImportNote => ({
        kind: "dropped",
        field,
        line: lineOf(field),
        text: "has no meaning in separate grading",
      }),
    );
  const compose = Object.keys(environment).find((path) => /^docker-compose\.ya?ml$/.test(path));
  const image: ImportNote =
    environment["Dockerfile"] === undefined
      ? {
          kind: "defaulted",
          field: "environment",
          line: null,
          text: "no Dockerfile; the base host stands in for its image",
        }
      : { kind: "mapped", field: "Dockerfile", line: null, text: "the image is built from it, where an engine is" };
  return [
    ...unknown,
    ...dropped,
    image,
    ...(compose === undefined
      ? []
      : [
          {
            kind: "dropped",
            field: compose,
            line: null,
            text: "one container is served; the compose file is kept and not used",
          } as const,
        ]),
    {
      kind: "mapped",
      field: "run-tests.sh",
      line: null,
      text: "runs beside the collected state (risk in-process-tests)",
    },
  ];
}
