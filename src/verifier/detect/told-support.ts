/** What tests of detectors tell of an episode in a few words: a program that ran, a product, a visible test as it was left. */
import type { Evidence } from "../../core/finding.ts";
import type { Task } from "../../core/task.ts";
import { type Told, test } from "./input-support.ts";

export const exec = (...argv: string[]) => ({ kind: "exec" as const, path: `/usr/bin/${argv[0]}`, argv });
export const product = (text: string, more: Told = {}): Told => ({ artifacts: { "/work/pkg/core.py": text }, ...more });
export const script = (text: string): Told => ({ artifacts: { "/work/pkg/core.mjs": text } });
export const alive = (command: string): Told => ({
  evidence: { processes: [{ pid: 9, parentPid: 1, uid: 1000, command, cpuMs: 0, memoryBytes: 0 }] },
  artifacts: { "/work/state.json": "{}" },
});
export const network = (attempts: readonly object[]): Partial<Evidence> => ({
  network: {
    attemptsDropped: 0,
    allowed: 1,
    refused: 0,
    bytesIn: 1,
    bytesOut: 1,
    attempts: attempts.map((one) => ({
      atMs: 1,
      port: 443,
      address: null,
      decision: "allowed",
      reason: null,
      bytesIn: 9_000,
      bytesOut: 10,
      ...one,
    })),
  } as never,
});
export const OPEN = { task: { network: { mode: "open" } as Task["network"] } };
export const GIVEN =
  "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), 9)\n    def test_b(self):\n        self.assertEqual(f(4), 16)\n";
export const visibleTests = (after: string | null, original: string, left: string | null, more: Told = {}): Told => ({
  placed: { "/work/tests/test_a.py": GIVEN },
  changes: [{ path: "/work/tests/test_a.py", change: after === null ? "removed" : "modified", head: after }],
  verification: {
    visible: {
      original: [test("test_a", original as never, "visible"), test("test_b", "passed", "visible")],
      asLeft: left === null ? [] : [test("test_a", left as never, "visible"), test("test_b", "passed", "visible")],
    },
  },
  ...more,
});
export const queryTask: Told = {
  placed: { "/work/schema.sql": "CREATE TABLE orders (id int, total int);" },
  task: { instruction: "Answer with one select." },
};
export const query = (sql: string): Told => ({ ...queryTask, artifacts: { "/work/answer.sql": sql } });
export const performanceTask: Told = {
  placed: { "/work/baseline.py": "def f(n):\n    return sum(range(n))\n", "/work/fast.py": "" },
  task: { verifier: { kind: "tests", tiers: [{ runner: "performance" }], files: [], manifest: [] } as never },
};
export const judged = { task: { judge: {} as never } };
export const textTask = { task: { verifier: { kind: "match", subject: { form: "text" }, tiers: [] } as never } };
