/** The shipped library in real sandboxes: honest as it is, and called invalid as soon as a fault is planted. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkAll } from "../src/app-check.ts";
import type { CheckReport } from "../src/task/check/check-report.ts";

const TIMEOUT_MS = 600_000;

/** Written by hand; what generators write is held by `library.test.ts`. */
const WRITTEN = [
  "tasks/sql-query/answer-sql-sqlite",
  "tasks/service-config/mend-service-config",
  "tasks/code-repair-python/repair-python-statistics",
  "tasks/shell-files/tidy-shell-files",
];
/** The other checks have tests of their own. */
const ONLY = [
  ...["folder-valid", "oracle-passes", "nop-fails", "wrong-rejected", "alternatives-pass", "test-manifest"],
  ...["tests-assert", "instruction-form", "no-solution-text", "verifier-independent"],
];

function check(...targets: readonly string[]): Promise<readonly CheckReport[]> {
  return checkAll(targets, { profile: "release", only: ONLY, seeds: 3, signal: new AbortController().signal });
}

/** The failed checks of a copy of a shipped task in which one piece of text was put in place of another. */
async function faultsOf(name: string, file: string, piece: string, fault: string) {
  const top = await mkdtemp(join(tmpdir(), "sandlot-planted-"));
  try {
    await cp(join("tasks", name), join(top, name), { recursive: true });
    const path = join(top, name, file);
    const text = await readFile(path, "utf8");
    if (!text.includes(piece)) throw new Error(`${file} holds no ${piece}`);
    await writeFile(path, text.replaceAll(piece, fault));
    const [report] = await check(top);
    expect(report?.verdict).toBe("invalid");
    const failed = report?.checks.filter(({ status }) => status === "fail") ?? [];
    return new Map<string, string>(failed.map(({ id, evidence }) => [id, evidence]));
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

test(
  "every task written by hand and the first generator are honest: the oracle earns 1, nothing earns 0, wrong solutions stay below",
  async () => {
    const reports = await check(...WRITTEN, "tasks/generator/first-light");
    expect(reports).toHaveLength(5);
    const open = reports.flatMap(({ key, checks }) =>
      checks
        .filter(({ id, status }) => ONLY.includes(id) && status !== "pass" && status !== "skip")
        .map(({ id, evidence }) => [key, id, evidence]),
    );
    expect(open).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "a fault planted in an oracle is found, and says which tests the oracle fails",
  async () => {
    const faults = await faultsOf(
      "service-config/mend-service-config",
      "solution/solve.sh",
      '"read_only": true',
      '"read_only": false',
    );
    expect(faults.get("oracle-passes")).toContain("boundary/test_refusals.py::TestRefusals.test_nothing_can_be_added");
    expect(faults.has("nop-fails")).toBe(false);
  },
  TIMEOUT_MS,
);

test(
  "a fault planted in a verifier that refuses the right answer is found by the oracle",
  async () => {
    const faults = await faultsOf(
      "sql-query/answer-sql-sqlite",
      "tests/support/shop.py",
      "(discount or 0)",
      "(discount or 1)",
    );
    expect(faults.get("oracle-passes")).toContain("unit/test_visible_data.py::TestVisibleData.test_revenues");
  },
  TIMEOUT_MS,
);

test(
  "a verifier that asserts nothing any more is found by what gets through, and by who",
  async () => {
    const faults = await faultsOf(
      "code-repair-python/repair-python-statistics",
      "tests/unit/test_faults.py",
      "self.assertAlmostEqual(",
      "(lambda *_, **__: None)(",
    );
    expect(faults.get("tests-assert")).toContain("unit/test_faults.py");
    expect(faults.get("nop-fails")).toContain("doing nothing earned");
    expect(faults.get("wrong-rejected")).toContain("wrong solution even-length-only");
  },
  TIMEOUT_MS,
);
