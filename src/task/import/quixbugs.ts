/**
 * QuixBugs: a folder of small Python programs with one bug each, their corrected versions, and cases as JSON. The buggy
 * program is where the agent begins and a wrong solution too; three cases in ten are shown, the rest is hidden.
 */
import { join } from "node:path";
import { type Imported, type ImportedTask, type Importer, type SkippedTask, slugOf } from "./import-contract.ts";
import { pythonTask, writeCommand } from "./python-task.ts";
import { isFolder, namesIn, requiredText, textIfThere } from "./read-source.ts";

const BUGGY = "python_programs";
const RIGHT = "correct_python_programs";
const CASES = "json_testcases";
const SHOWN_SHARE = 0.3;

export const quixbugs: Importer = {
  format: "quixbugs",
  title: "a QuixBugs folder: python_programs, correct_python_programs, json_testcases",
  detects: (path) => [BUGGY, RIGHT, CASES].every((name) => isFolder(join(path, name))),
  read: async (path, { licence }): Promise<Imported> => {
    const tasks: ImportedTask[] = [];
    const skipped: SkippedTask[] = [];
    for (const file of namesIn(join(path, BUGGY)).filter((name) => name.endsWith(".py"))) {
      const name = file.slice(0, -3);
      const right = textIfThere(join(path, RIGHT, file));
      const cases = casesOf(textIfThere(join(path, CASES, `${name}.json`)));
      const reason =
        right === null
          ? "There is no corrected version of it."
          : cases === null
            ? "Its cases are no JSON lines of [arguments, answer]; tests in code are not carried."
            : cases.length < 4
              ? "It has fewer than four cases, too few to show one and hide the others."
              : null;
      if (reason !== null || right === null || cases === null) {
        skipped.push({ name, line: null, reason: reason ?? "" });
        continue;
      }
      const buggy = requiredText(join(path, BUGGY, file), "a QuixBugs folder");
      tasks.push(taskOf(name, buggy, right, cases, licence));
    }
    return { tasks, skipped };
  },
};

/** One line for each case: `[[arguments], answer]`. Null when any line is something else. */
function casesOf(text: string | null): readonly (readonly [unknown[], unknown])[] | null {
  if (text === null) return null;
  try {
    const rows = text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as unknown);
    const isCase = (row: unknown): row is [unknown, unknown] => Array.isArray(row) && row.length === 2;
    if (!rows.every(isCase)) return null;
    return rows.map(([args, answer]) => [Array.isArray(args) ? args : [args], answer]);
  } catch {
    return null;
  }
}

function taskOf(
  name: string,
  buggy: string,
  right: string,
  cases: readonly (readonly [unknown[], unknown])[],
  licence: string | null,
): ImportedTask {
  const shown = Math.max(1, Math.round(SHOWN_SHARE * cases.length));
  const entry = new RegExp(`^def (${name})\\(`, "m").test(right) ? name : (/^def (\w+)\(/m.exec(right)?.[1] ?? name);
  const bare = `${buggy.replaceAll(/^("""|''')[\s\S]*?\1\s*$/gm, "").trimEnd()}\n`;
  const drawn = pythonTask({
    slug: slugOf(name),
    family: "imported-quixbugs",
    description: `Repair the Python program ${name}.`,
    keywords: ["python", "repair", "benchmark-text"],
    metadata: { origin: "quixbugs", ...(licence === null ? {} : { licence }) },
    source: `quixbugs/${name}`,
    module: name,
    instruction:
      `The function \`${entry}\` in \`/app/${name}.py\` has a bug: for some arguments it gives a wrong answer, fails, or ` +
      `does not end. Repair it in place. Only \`/app/${name}.py\` is graded, by calling \`${entry}\` with other arguments; ` +
      `each call has 5 seconds.\n\n\`/visible/cases.json\` holds some cases as \`[[arguments], answer]\`, one a line.\n`,
    environment: { [`${name}.py`]: bare },
    visible: { "cases.json": lines(cases.slice(0, shown)) },
    tests: {
      "unit/test_cases.py": testFile(name, entry),
      "support/cases.json": lines(cases.slice(shown)),
    },
    tiers: [{ name: "unit" }],
    solution: right,
    wrong: {
      "as-found": { solve: "true", rewardMax: 0, failsTier: "unit" },
      nothing: {
        solve: writeCommand(`/app/${name}.py`, `def ${entry}(*args):\n    return None\n`),
        rewardMax: 0,
        failsTier: "unit",
      },
    },
    timeoutSec: 600,
  });
  return {
    drawn,
    notes: [
      {
        kind: "mapped",
        field: `${CASES}/${name}.json`,
        line: null,
        text: `${shown} cases are shown, ${cases.length - shown} hidden`,
      },
      {
        kind: "dropped",
        field: `${BUGGY}/${name}.py`,
        line: null,
        text: "its notes on input, output and examples were left out of the program",
      },
    ],
  };
}

function lines(cases: readonly unknown[]): string {
  return `${cases.map((one) => JSON.stringify(one)).join("\n")}\n`;
}

/** One test over all cases: what works already in the buggy program must earn nothing. */
function testFile(name: string, entry: string): string {
  return `import json
import pathlib
import unittest

from sandlot_subject import subject

CASES = (pathlib.Path(__file__).parent.parent / "support" / "cases.json").read_text(encoding="utf-8").splitlines()


def close(value, answer):
    if isinstance(answer, float) or isinstance(value, float):
        return isinstance(value, (int, float)) and abs(value - answer) <= 1e-6 * max(1, abs(answer))
    if isinstance(value, (list, tuple)) and isinstance(answer, list):
        return len(value) == len(answer) and all(close(*pair) for pair in zip(value, answer))
    return value == answer


class TestCases(unittest.TestCase):
    def test_every_case_holds(self):
        for line in CASES:
            args, answer = json.loads(line)
            value = subject.call("/app/${name}.py:${entry}", args, timeout_ms=5_000)
            self.assertTrue(close(value, answer), f"{value!r} is not {answer!r}")
`;
}
