/**
 * Which files of a tier hold its tests, and what their ids are, for each runner. Ids are found by reading the text,
 * never by running it, so that the manifest can be checked before anything runs: `FILE` or `FILE::NAME`, where FILE is
 * the path below `tests/`.
 */
import { TEST_RUNNERS, type TestRunner } from "../core/task.ts";
import { nodeTestNames } from "./node-tests.ts";
import { type NamedTest, pytestNames, unittestNames } from "./python-tests.ts";

/** How a runner's files are named, and its tests found in them. */
export interface RunnerFiles {
  /** Of the file's own name. */
  readonly file: RegExp;
  /** For a person who has none yet: what to add. */
  readonly example: string;
  /** For a file that holds no test. */
  readonly remedy: string;
  /** Empty names are files that are one test as a whole. */
  tests(text: string): readonly NamedTest[];
}

const PYTHON_FILE = /^test_[A-Za-z0-9_]+\.py$/;
const WHOLE: readonly NamedTest[] = [{ name: "", line: 1 }];

/** Of each runner. */
export const RUNNER_FILES: Readonly<Record<TestRunner, RunnerFiles>> = {
  unittest: {
    file: PYTHON_FILE,
    example: "test_NAME.py with a unittest.TestCase",
    remedy: "write a class TestNAME(unittest.TestCase) with def test_…",
    tests: unittestNames,
  },
  pytest: {
    file: PYTHON_FILE,
    example: "test_NAME.py with def test_…()",
    remedy: "write def test_…() in column 0, or in a class TestNAME",
    tests: pytestNames,
  },
  "node-test": {
    file: /^[A-Za-z0-9_-]+\.test\.mjs$/,
    example: 'NAME.test.mjs with test("…", …)',
    remedy: 'write test("what is promised", () => …) with a literal title',
    tests: nodeTestNames,
  },
  shell: {
    file: /^test_[A-Za-z0-9_-]+\.sh$/,
    example: "test_NAME.sh with check NAME PROGRAM …",
    remedy: "write check NAME PROGRAM … for each test",
    tests: checksOf,
  },
  sql: {
    file: /^[A-Za-z0-9_-]+\.sql\.json$/,
    example: "NAME.sql.json",
    remedy: "write the query, its data and the rows expected",
    tests: () => WHOLE,
  },
  http: {
    file: /^[A-Za-z0-9_-]+\.http\.json$/,
    example: "NAME.http.json with probes",
    remedy: "write at least one probe with a name",
    tests: probesOf,
  },
  "reward-file": {
    file: /^test\.sh$/,
    example: "test.sh that writes /logs/verifier/reward.txt",
    remedy: "write a script",
    tests: () => WHOLE,
  },
  performance: {
    file: /^workload\.py$/,
    example: "workload.py with make(random) and check(args, value)",
    remedy: "write def make(random) and def check(args, value)",
    tests: () => WHOLE,
  },
};

/** The runners whose files lie among the paths, `tests/` left out; of two that share a pattern, the first. */
export function runnersOf(paths: readonly string[]): readonly TestRunner[] {
  const found = new Set<TestRunner>();
  for (const path of paths) {
    const runner = TEST_RUNNERS.find((name) => isTestFile(name, path));
    if (runner !== undefined) found.add(runner);
  }
  return TEST_RUNNERS.filter((name) => found.has(name));
}

/** Whether a path below `tests/` is a test file of the runner. */
export function isTestFile(runner: TestRunner, path: string): boolean {
  const parts = path.split("/");
  return RUNNER_FILES[runner].file.test(parts.at(-1) ?? "") && parts.length > 1;
}

/** The ids of one file, in their order, each with its line. */
export function testIds(
  runner: TestRunner,
  path: string,
  text: string,
): readonly { readonly id: string; readonly line: number }[] {
  return RUNNER_FILES[runner]
    .tests(text)
    .map(({ name, line }) => ({ id: name === "" ? path : `${path}::${name}`, line }));
}

/** A check that stands twice, such as in both branches of a condition, is one test. */
function checksOf(text: string): readonly NamedTest[] {
  const found = text.split("\n").flatMap((line, index): readonly NamedTest[] => {
    const name = /^\s*check\s+([A-Za-z0-9_.-]+)\s/.exec(line)?.[1];
    return name === undefined ? [] : [{ name, line: index + 1 }];
  });
  return found.filter(({ name }, index) => found.findIndex((other) => other.name === name) === index);
}

/** Names of the probes; what is not JSON of that form holds none, and the template says what is wrong with it. */
function probesOf(text: string): readonly NamedTest[] {
  try {
    const { probes } = JSON.parse(text) as { readonly probes?: readonly { readonly name?: unknown }[] };
    return (probes ?? []).flatMap(({ name }) => (typeof name === "string" ? [{ name, line: 1 }] : []));
  } catch {
    return [];
  }
}
