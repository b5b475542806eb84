/**
 * HumanEval and MBPP: JSON lines of one function each. The prompt is the instruction, the canonical solution the oracle,
 * and the asserts are split: the first is shown, the others are hidden.
 */
import { type ImportedTask, type Importer, type ImportNote, slugOf } from "./import-contract.ts";
import { pythonTask, writeCommand } from "./python-task.ts";
import { textField } from "./read-source.ts";
import { type Row, type RowSource, rowImporter } from "./row-importer.ts";

/** One problem, whichever of the two it came from. */
interface Problem {
  readonly name: string;
  readonly prompt: string;
  readonly entry: string;
  readonly solution: string;
  /** Lines that asserts need before them. */
  readonly prelude: string;
  /** Python expressions that must be true, in which `entry` is called. */
  readonly asserts: readonly string[];
  readonly notes: readonly ImportNote[];
}

export const humaneval: Importer = rowImporter({
  format: "humaneval",
  title: "HumanEval JSON lines: prompt, canonical_solution, test",
  read: humanevalProblem,
  nameOf,
  taskOf,
});

export const mbpp: Importer = rowImporter({
  format: "mbpp",
  title: "MBPP JSON lines: text, code, test_list",
  read: mbppProblem,
  nameOf,
  taskOf,
});

const ASSERTS_MIN = 2;

function nameOf(row: Row | null, line: number): string {
  return String(row?.["task_id"] ?? `line ${line}`);
}

function humanevalProblem(row: Row, line: number): Problem | string {
  const [prompt, entry] = [textField(row, "prompt"), textField(row, "entry_point")];
  const [solution, test] = [textField(row, "canonical_solution"), textField(row, "test")];
  if (prompt === null || entry === null || solution === null || test === null) {
    return "lacks one of prompt, entry_point, canonical_solution and test";
  }
  const body = /def check\(candidate\):\n([\s\S]*)$/.exec(test)?.[1] ?? "";
  const asserts = assertsOf(body).map((text) => text.replaceAll(/\bcandidate\b/g, entry));
  if (asserts.length < ASSERTS_MIN) return "has a check that is not a list of asserts of one line each";
  return {
    ...{ name: nameOf(row, line), prompt, entry, asserts, prelude: "" },
    solution: `${prompt}${solution}`,
    notes: unknownNotes(row, line, ["task_id", "prompt", "entry_point", "canonical_solution", "test"]),
  };
}

function mbppProblem(row: Row, line: number): Problem | string {
  const [prompt, solution] = [textField(row, "text", "prompt"), textField(row, "code")];
  const list = [row["test_list"], row["challenge_test_list"]].flatMap((part) => (Array.isArray(part) ? part : []));
  if (prompt === null || solution === null || list.length === 0) return "lacks one of text, code and test_list";
  const asserts = list.flatMap((text) => assertsOf(String(text)));
  const entry = /^\(*\s*(?:set|sorted|list|tuple|math\.isclose)?\(*([A-Za-z_]\w*)\(/.exec(asserts[0] ?? "")?.[1];
  if (entry === undefined || asserts.length < ASSERTS_MIN) return "has asserts that call no one function";
  const prelude = textField(row, "test_setup_code") ?? "";
  const known = [
    "task_id",
    "text",
    "prompt",
    "code",
    "test_list",
    "challenge_test_list",
    "test_setup_code",
    "source_file",
  ];
  return {
    ...{ name: `mbpp-${nameOf(row, line)}`, entry, solution, prelude, asserts },
    prompt: `${prompt.trim()}\n\nThe function is called \`${entry}\`.\n`,
    notes: unknownNotes(row, line, [...known, "test_imports"]),
  };
}

/** The expressions of asserts that stand on one line each; empty when there is any other statement. */
function assertsOf(body: string): readonly string[] {
  const lines = body.split("\n").map((line) => line.trim());
  const asserts: string[] = [];
  for (const line of lines) {
    if (line === "" || line.startsWith("#")) continue;
    const expression = /^assert\s+(.+)$/.exec(line)?.[1];
    // Half of a statement of several lines ends within a bracket.
    if (expression === undefined || !isBalanced(expression)) return [];
    if (!/^True\b/.test(expression)) asserts.push(expression);
  }
  return asserts;
}

function isBalanced(text: string): boolean {
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, "");
  const count = (pattern: RegExp): number => bare.match(pattern)?.length ?? 0;
  return count(/[([{]/g) === count(/[)\]}]/g);
}

function unknownNotes(row: Row, line: number, known: readonly string[]): readonly ImportNote[] {
  return Object.keys(row)
    .filter((key) => !known.includes(key))
    .map((field) => ({ kind: "unknown", field, line, text: "is no field of this format; it was left out" }));
}

function taskOf(problem: Problem, { format, source, licence }: RowSource): ImportedTask {
  const { name, prompt, entry, prelude, asserts, solution } = problem;
  const [shown = "True", ...hidden] = asserts;
  const visible = `from solution import *  # noqa: F403\n\n${prelude}\nassert ${shown}\nprint("the visible example holds")\n`;
  const drawn = pythonTask({
    slug: slugOf(name),
    family: `imported-${format}`,
    description: `Write the Python function ${entry}.`,
    keywords: ["python", "benchmark-text"],
    metadata: { origin: format, ...(licence === null ? {} : { licence }) },
    source,
    module: "solution",
    instruction:
      `Write the Python function \`${entry}\` in the file \`/app/solution.py\`. Only that file is graded, by calling the ` +
      `function with other arguments. \`python3 /visible/example.py\`, run with \`PYTHONPATH=/app\`, checks one example.\n\n${indented(prompt)}`,
    environment: { "solution.py": "" },
    visible: { "example.py": visible },
    tests: { "unit/test_asserts.py": testFile(entry, prelude, hidden) },
    tiers: [{ name: "unit" }],
    solution,
    wrong: {
      nothing: wrongBy(`def ${entry}(*args, **kwargs):\n    return None\n`),
      "first-argument": wrongBy(`def ${entry}(*args, **kwargs):\n    return args[0] if args else None\n`),
    },
    timeoutSec: 600,
  });
  const guessed: ImportNote = {
    ...{ kind: "defaulted", field: "wrong solutions", line: null },
    text: "two trivial ones stand in, as the format has none; measure them with sandlot task check",
  };
  return { drawn, notes: [...problem.notes, guessed] };
}

function wrongBy(text: string) {
  return { solve: writeCommand("/app/solution.py", text), rewardMax: 0.99, failsTier: "unit" };
}

function testFile(entry: string, prelude: string, asserts: readonly string[]): string {
  const methods = asserts.map(
    (text, index) => `    def test_assert_${index + 1}(self):\n        self.assertTrue(${text})\n`,
  );
  return `import math  # noqa: F401
import unittest

from support import solution

${entry} = solution.${entry}
${prelude}

class TestAsserts(unittest.TestCase):
${methods.join("\n")}`;
}

/** As quoted text, so that nothing in it looks like a heading of ours. */
function indented(text: string): string {
  return `${text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? "" : `    ${line}`))
    .join("\n")}\n`;
}
