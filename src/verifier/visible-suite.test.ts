import { afterAll, expect, test } from "vitest";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import { Failure } from "../core/errors.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const HIDDEN = `import unittest
import sandlot_subject as s
class TestIt(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(s.subject.call("stats.py:mean", [[1, 2, 3]]), 2.0)
`;

const VISIBLE = `import sys, unittest
sys.path.insert(0, "/app")
from stats import mean
class TestSeen(unittest.TestCase):
    def test_one(self):
        self.assertEqual(mean([1, 2, 3]), 2.0)
    def test_two(self):
        self.assertEqual(mean([4]), 4.0)
`;
const SEEN = file("/visible/test_seen.py", VISIBLE);
const RIGHT = "def mean(values):\n    return sum(values) / len(values)\n";
/** Passes one of the two tests it can see and not the hidden one. */
const HALF = "def mean(values):\n    return 4.0\n";

function grade(product: string, own: readonly FileContent[], left?: readonly FileContent[], change = {}) {
  const hidden = { path: "test_stats.py", text: HIDDEN, names: ["TestIt.test_mean"] };
  const task = hiddenTask("unittest", hidden, { files: own, ...change });
  return rig.grade(task, [file("/app/stats.py", product)], left === undefined ? {} : { visible: left });
}

const brief = (tests: readonly { readonly id: string; readonly status: string }[] = []) =>
  tests.map(({ id, status }) => `${id.split("::")[1] ?? id} ${status}`);

test("visible tests say how they went on the graded state, and are in no score", async () => {
  const { visible, total, tests } = await grade(HALF, [SEEN], [SEEN]);
  expect(brief(visible?.original)).toEqual(["TestSeen.test_one failed", "TestSeen.test_two passed"]);
  expect(visible?.asLeft).toEqual(visible?.original);
  expect({ total, hidden: tests.map((one) => one.id) }).toEqual({
    total: 0,
    hidden: ["unit/test_stats.py::TestIt.test_mean"],
  });
});

test("visible tests an agent edited to pass are told beside the task's own, which still fail", async () => {
  const edited = VISIBLE.replaceAll("self.assertEqual", "print");
  const { visible, total } = await grade(HALF, [SEEN], [file("/visible/test_seen.py", edited)]);
  expect(brief(visible?.original)).toEqual(["TestSeen.test_one failed", "TestSeen.test_two passed"]);
  expect(brief(visible?.asLeft)).toEqual(["TestSeen.test_one passed", "TestSeen.test_two passed"]);
  expect(total).toBe(0);
});

test.each([
  ["as an empty folder", []],
  ["as nothing at all", undefined],
])("visible tests an agent deleted, told %s, are missing from what it left", async (_name, left) => {
  const { visible } = await grade(RIGHT, [SEEN], left);
  expect(brief(visible?.original)).toHaveLength(2);
  expect(visible?.asLeft).toEqual([]);
});

test("visible tests of a task that collects an answer alone count as left alone", async () => {
  const contract = { state: "answer", files: [], bytesMax: 9_999, entriesMax: 9 } as const;
  const { visible } = await grade(RIGHT, [SEEN, file("/app/stats.py", RIGHT)], undefined, { contract });
  expect(brief(visible?.original)).toHaveLength(2);
  expect(visible?.asLeft).toEqual(visible?.original);
});

test("nothing an agent left under /visible reaches the hidden tests", async () => {
  const probe = HIDDEN.replace(
    "def test_mean",
    'def test_apart(self):\n        import os\n        self.assertFalse(os.path.exists("/visible") or os.path.exists("/artifacts/visible"))\n    def test_mean',
  );
  const hidden = { path: "test_stats.py", text: probe, names: ["TestIt.test_mean", "TestIt.test_apart"] };
  const task = hiddenTask("unittest", hidden, { files: [SEEN] });
  const verdict = await rig.grade(task, [file("/app/stats.py", RIGHT)], { visible: [SEEN, file("/visible/x.py", "")] });
  expect(verdict.total).toBe(1);
});

test.each([
  ["hangs", "def mean(values):\n    return 2.0 if len(values) == 3 else hang()\ndef hang():\n    while True: pass\n"],
  [
    "exits while it is imported",
    "import os, sys\nif 'unittest' in sys.modules: os._exit(0)\ndef mean(values):\n    return 2.0\n",
  ],
  ["kills all it can see", "import os\ndef mean(values):\n    return 2.0 if len(values) == 3 else os.kill(-1, 9)\n"],
  [
    "writes junk on every descriptor",
    "import os, sys\nfor fd in range(3, 9) if 'unittest' in sys.modules else ():\n    try: os.write(fd, b'x' * 4096)\n    except OSError: pass\ndef mean(values):\n    return 2.0\n",
  ],
])("a program that %s under its visible tests costs no verdict", async (_name, product) => {
  const limits = { ...hiddenTask("unittest", { path: "test_a.py", text: "", names: [] }).limits, gradeMs: 12_000 };
  const verdict = await grade(product, [SEEN], undefined, { limits });
  expect(verdict.total).toBe(1);
  expect(rig.pool.stats().lent).toBe(0);
});

test("a program that tells of endless tests, or of tests with endless names, fills no record", async () => {
  const flood = `import json, os, struct, sys
def tell(message):
    data = json.dumps(message).encode()
    data = struct.pack(">I", len(data)) + data
    while data: data = data[os.write(3, data):]
if "unittest" in sys.modules:
    for n in range(8):
        tell({"kind": "plan", "ids": ["%d %d" % (n, i) for i in range(5000)]})
        tell({"kind": "test", "id": str(n) + "x" * 1000000, "status": "passed"})
def mean(values):
    return 2.0
`;
  const { visible, total } = await grade(flood, [SEEN]);
  expect(total).toBe(1);
  expect(visible?.original.length).toBeGreaterThan(0);
  expect(visible?.original.length).toBeLessThanOrEqual(10_000);
  expect(Math.max(...(visible?.original ?? []).map(({ id }) => id.length))).toBeLessThan(600);
});

test("a visible suite for which no sandbox can be had costs no verdict", async () => {
  let claims = 0;
  const claim: SandboxPool["claim"] = async (...asked) => {
    claims += 1;
    if (claims > 2) throw new Failure("sandbox_unavailable", "There is none.");
    return rig.pool.claim(...asked);
  };
  const task = hiddenTask(
    "unittest",
    { path: "test_a.py", text: HIDDEN, names: ["TestIt.test_mean"] },
    { files: [SEEN] },
  );
  const { total, visible } = await rig.grade(task, [file("/app/stats.py", RIGHT)], {}, { ...rig.pool, claim });
  expect({ total, visible, claims }).toEqual({ total: 1, visible: null, claims: 3 });
});

test("a task without visible tests claims no sandbox for them", async () => {
  const { visible, sandboxIds } = await grade(RIGHT, []);
  expect(visible).toBeNull();
  expect(sandboxIds).toHaveLength(2);
});

test("visible tests of a shell are run, too", async () => {
  const script = file("/visible/test_it.sh", "python3 -c 'import stats; assert stats.mean([4]) == 4'\n");
  const { visible } = await grade(RIGHT, [script]);
  expect(brief(visible?.original)).toEqual(["visible/test_it.sh passed"]);
});

testUnless(MISSING.pytest)("visible tests of pytest are run, too", async () => {
  const seen = file("/visible/test_seen.py", "from stats import mean\ndef test_a():\n    assert mean([4]) == 5\n");
  const { visible } = await grade(RIGHT, [seen]);
  expect(brief(visible?.original)).toEqual(["test_a failed"]);
});

testUnless(MISSING.node)("visible tests of node:test are run, too", async () => {
  const seen = 'import test from "node:test";\nimport assert from "node:assert";\ntest("a", () => assert.ok(true));\n';
  const resources = {
    ...hiddenTask("unittest", { path: "test_a.py", text: "", names: [] }).resources,
    memoryBytes: 2 ** 29,
  };
  const { visible } = await grade(RIGHT, [file("/visible/seen.test.mjs", seen)], undefined, { resources });
  expect(brief(visible?.original)).toEqual(["a passed"]);
});
