/**
 * What a verifier can do wrong, on real sandboxes: each ends in the class of who is at fault, with a message that names
 * the file to mend, and never as a reward of 0 for what the agent had no part in.
 */
import { afterAll, expect, test } from "vitest";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import type { Task, Tier } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";
import { NODE_TEST } from "./node-test.ts";
import { testFilesTemplate } from "./test-files.ts";
import { turnTaker } from "./turn-taker.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const HEAD = "import os, signal, sys, time, unittest\nimport sandlot_subject as s\n";
const MEAN = file("/app/stats.py", "def mean(values):\n    return sum(values) / len(values)\n");

/** A hidden file whose tests are methods of `TestIt`, with `top` before them. */
function unit(methods: Readonly<Record<string, string>>, top = "", change: Partial<Task> = {}) {
  const body = Object.entries(methods).map(
    ([name, lines]) => `    def test_${name}(self):\n        ${lines.split("\n").join("\n        ")}\n`,
  );
  const names = Object.keys(methods).map((name) => `TestIt.test_${name}`);
  const text = `${HEAD}${top}\nclass TestIt(unittest.TestCase):\n${body.join("")}`;
  return hiddenTask("unittest", { path: "test_it.py", text, names }, change);
}

function withSeconds(task: Task, seconds: number): Task {
  return { ...task, limits: { ...task.limits, gradeMs: seconds * 1_000 } };
}

/** Where time must run out there is little of it; anywhere else a busy machine has enough. */
function secondsFor(code: string): number {
  return code === "verifier_timeout" ? 8 : 60;
}

const FINE = { fine: 'self.assertEqual(s.subject.call("stats.py:mean", [[2]]), 2.0)' };

test.each([
  ["is no Python", "def (", "verifier_crashed", /tests\/unit\/test_it\.py .*SyntaxError/],
  ["imports what is nowhere", "import nothing_of_this_name", "verifier_crashed", /test_it\.py .*nothing_of_this_name/],
  ["raises while it is loaded", "raise RuntimeError('unfinished')", "verifier_crashed", /test_it\.py .*unfinished/],
  ["exits while it is loaded", "os._exit(0)", "verifier_crashed", /test_it\.py ended its process \(0\) before/],
  ["hangs while it is loaded", "while True: pass", "verifier_timeout", /test_it\.py did not end in time before/],
  [
    "kills its runner",
    "os.kill(os.getppid(), 9)\ntime.sleep(9)",
    "verifier_crashed",
    /test\/hidden ended early.*SIGKILL.*tests\//,
  ],
  [
    "stops its runner",
    "os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(99)",
    "verifier_timeout",
    /test\/hidden did not end/,
  ],
])("a hidden file that %s is a verifier fault that names it", async (_name, top, code, message) => {
  const graded = rig.grade(withSeconds(unit(FINE, top), secondsFor(code)), [MEAN]);
  await expect(graded).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test.each([
  [
    "crashes",
    "os.kill(os.getpid(), signal.SIGSEGV)",
    "verifier_crashed",
    /test_it\.py ended its process \(-11\) in TestIt\.test_bad/,
  ],
  ["hangs", "while True: pass", "verifier_timeout", /test_it\.py did not end in time in TestIt\.test_bad/],
  [
    "forks without end",
    "while True:\n    if os.fork() == 0: time.sleep(99)",
    "verifier_crashed",
    /test_it\.py .*test_bad/,
  ],
  [
    "fills the disk",
    "open('/tmp/full', 'wb').write(b'x' * (1 << 27))",
    "verifier_crashed",
    /test_it\.py used up its sandbox in TestIt\.test_bad/,
  ],
  ["fills the memory", "keep = b'x' * (1 << 30)", "verifier_crashed", /test_it\.py .*test_bad/],
])(
  "a hidden test that %s, with no part of the agent's in it, is a verifier fault that names it",
  async (_name, line, code, message) => {
    const graded = rig.grade(withSeconds(unit({ bad: line }), secondsFor(code)), [MEAN]);
    await expect(graded).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  },
);

test("the same, once the agent's work was looked at, fails that test and nothing else", async () => {
  const methods = {
    crashes: "os.listdir(s.artifacts)\nos.kill(os.getpid(), signal.SIGSEGV)",
    hangs: "os.listdir('/artifacts/app')\nwhile True: pass",
    fills: "s.artifacts\nopen('/tmp/full', 'wb').write(b'x' * (1 << 27))",
    ...FINE,
  };
  const { tests } = await rig.grade(withSeconds(unit(methods), 40), [MEAN]);
  expect(tests.map(({ status }) => status)).toEqual(["error", "timeout", "error", "passed"]);
});

test.each([0, 1, 2, 3])("a runner killed after the frames of %i of 4 files is a verifier fault", async (count) => {
  // Each file tells of itself in the sandbox's /tmp; the one that is reached after `count` others kills the runner.
  const body = `seen = len(os.listdir("/tmp/seen"))\nif seen == ${count}: os.kill(os.getppid(), 9); time.sleep(9)\n`;
  const text = `${HEAD}os.makedirs("/tmp/seen", exist_ok=True)\n${body}open(f"/tmp/seen/{seen}", "w").close()
class TestIt(unittest.TestCase):\n    def test_fine(self): pass\n`;
  const task = unit(FINE);
  const files = ["a", "b", "c", "d"].map((name) => file(`/tests/unit/test_${name}.py`, text));
  const manifest = ["a", "b", "c", "d"].map((name) => ({ id: `unit/test_${name}.py::TestIt.test_fine`, tier: "unit" }));
  const graded = rig.grade({ ...task, verifier: { ...task.verifier, files, manifest } }, [MEAN]);
  await expect(graded).rejects.toMatchObject({ code: "verifier_crashed" });
});

test.each([
  [
    "prints junk and frames without end",
    'for fd in (1, 2):\n    os.write(fd, b\'\\0\\0\\0\\x30\\0\\0\\0\\0\\x02{"id": "x"}\' * 99_999)',
  ],
  ["leaves children behind", "for i in range(9):\n    if os.fork() == 0: os.setsid(); time.sleep(99)"],
  ["closes every descriptor above 2", "s.subject.call('stats.py:mean', [[2]])\nos.closerange(9, 99)"],
])("a hidden test that %s still gets its verdict", async (_name, line) => {
  const { tests, total } = await rig.grade(unit({ odd: line, ...FINE }), [MEAN]);
  expect(tests.map(({ status, detail }) => [status, detail])).toEqual([
    ["passed", ""],
    ["passed", ""],
  ]);
  expect(total).toBe(1);
});

test("a report with a frame larger than any real one is invalid as a whole", async () => {
  const top = `class T${"x".repeat(70_000)}(unittest.TestCase):\n    def test_a(self): pass`;
  await expect(rig.grade(unit(FINE, top), [MEAN])).rejects.toMatchObject({ code: "verifier_report_invalid" });
});

test("a hidden file that runs code of the agent beside the tests is refused, and told to call it instead", async () => {
  const imported = unit(FINE, 'sys.path.insert(0, "/artifacts/app")\nimport stats');
  await expect(rig.grade(imported, [MEAN])).rejects.toMatchObject({
    code: "verifier_crashed",
    message: expect.stringMatching(/tests\/unit\/test_it\.py runs \/app\/stats\.py of the agent.*sandlot_subject/),
  });
  const started = unit({
    ...FINE,
    runs: 'import subprocess\nsubprocess.run(["/usr/bin/python3", "/artifacts/app/stats.py"])',
  });
  await expect(rig.grade(started, [MEAN])).rejects.toMatchObject({
    message: expect.stringMatching(/runs \/app\/stats\.py/),
  });
});

test("tests that read what the contract does not collect name the field to mend", async () => {
  const contract = {
    state: "declared",
    files: [{ path: "/app/stats.py", required: true }],
    bytesMax: 9_999,
    entriesMax: 9,
  } as const;
  const read = 'self.assertEqual((s.artifacts / "app" / "report.json").read_text(), "")';
  await expect(rig.grade(unit({ read }, "", { contract }), [MEAN])).rejects.toMatchObject({
    code: "verifier_crashed",
    message: expect.stringMatching(
      /tests\/unit\/test_it\.py reads \/app\/report\.json, which the contract .*task\.toml.*contract/,
    ),
  });
});

test("a file the agent did not make, or whose name it chose itself, is a failed test and no fault", async () => {
  const read = 'self.assertEqual((s.artifacts / "app" / "report.json").read_text(), "")';
  const chosen = 'name = (s.artifacts / "app" / "name.txt").read_text()\nopen("/artifacts/" + name)';
  const contract = {
    state: "declared",
    files: [{ path: "/app", required: true }],
    bytesMax: 9_999,
    entriesMax: 9,
  } as const;
  const { tests } = await rig.grade(unit({ read, chosen }, "", { contract }), [
    MEAN,
    file("/app/name.txt", "srv/secret"),
  ]);
  expect(tests.map(({ status }) => status)).toEqual(["error", "error"]);
});

test("no name an agent chooses, though it be a word of the hidden tests, makes its failure a fault of the task", async () => {
  const contract = {
    state: "declared",
    files: [{ path: "/app/name.txt", required: true }],
    bytesMax: 9_999,
    entriesMax: 9,
  } as const;
  const name = 'name = (s.artifacts / "app" / "name.txt").read_text()\n';
  const read = `${name}(s.artifacts / "app" / name).read_text()`;
  const called = `${name}s.subject.call(name + ":mean", [])`;
  for (const chosen of ["import", "artifacts", "app", "../name.txt"]) {
    const { tests } = await rig.grade(unit({ read, called }, "", { contract }), [file("/app/name.txt", chosen)]);
    expect(tests.map(({ status }) => status)).toEqual(["error", "error"]);
  }
});

test("a call of a module that neither the contract nor the environment provides names the field to mend", async () => {
  const contract = {
    state: "declared",
    files: [{ path: "/app/out.txt", required: true }],
    bytesMax: 9_999,
    entriesMax: 9,
  } as const;
  await expect(rig.grade(unit(FINE, "", { contract }), [])).rejects.toMatchObject({
    code: "verifier_crashed",
    message: expect.stringMatching(/call \/app\/stats\.py.*contract.*task\.toml/),
  });
  const { tests } = await rig.grade(unit(FINE), []);
  expect(tests).toMatchObject([{ status: "error" }]);
});

testUnless(MISSING.pytest === null ? "this machine has pytest" : null)(
  "an image without pytest is the task's fault, and the message names the package",
  async () => {
    const task = hiddenTask("pytest", { path: "test_it.py", text: "def test_a(): pass\n", names: ["test_a"] });
    await expect(rig.grade(task, [MEAN])).rejects.toMatchObject({
      code: "task_invalid",
      message: expect.stringMatching(/test\/hidden cannot run: .*python3-pytest/),
    });
  },
);

test("a program's answer that is not a finite number fails the test unless the test asks for such", async () => {
  const product = file(
    "/app/stats.py",
    "def nan():\n    return float('nan')\ndef deep():\n    return {'a': [1, (float('inf'),)]}\n",
  );
  const close = 'got = s.subject.call("stats.py:nan", [])\nself.assertFalse(abs(got - 2.0) > 1e-9)';
  const deep = 's.subject.call("stats.py:deep", [])';
  const asked = 'self.assertNotEqual(s.subject.call("stats.py:nan", [], non_finite=True), 0)';
  const { tests } = await rig.grade(unit({ close, deep, asked }), [product]);
  expect(tests.map(({ status, detail }) => [status, detail.includes("non_finite=True")])).toEqual([
    ["error", true],
    ["error", true],
    ["passed", false],
  ]);
});

test("an image without Node is the task's fault, and the message names what it lacks", async () => {
  const parts = { runtime: rig.runtime, inTurn: turnTaker() };
  const template = testFilesTemplate(
    { ...NODE_TEST, config: () => ({ nodePaths: ["/opt/none/node"], manifest: [] }) },
    parts,
  );
  const task = hiddenTask("node-test", { path: "it.test.mjs", text: "", names: ["a"] });
  const signal = new AbortController().signal;
  const artifacts = { answer: null, files: [], missing: [], hash: "h" };
  const request = { task, artifacts, gradingSeed: 5n, attemptId: "no-node", fence: 1, signal };
  await expect(template({ request, spec: task.verifier, gradeMs: 9_000 }, rig.pool)).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringMatching(/test\/hidden cannot run: .*no Node at \/opt\/none\/node/),
  });
});

test("a build that fails shuts its gate with the compiler's words as the test's detail, and is no fault", async () => {
  const build =
    'ran = s.subject.run(["/usr/bin/gcc", "-c", "-o", "/dev/null", "main.c"])\nself.assertEqual(ran.exit_code, 0, ran.stderr.decode())';
  const task = unit({ build, ...FINE });
  const tiers = ["build", "unit"].map((name) => ({ ...task.verifier.tiers[0], name, gate: name === "build" }) as Tier);
  const text = Buffer.from(task.verifier.files[0]?.bytes ?? []).toString("utf8");
  const files = ["build", "unit"].map((tier) => file(`/tests/${tier}/test_it.py`, text));
  const manifest = [
    { id: "build/test_it.py::TestIt.test_build", tier: "build" },
    { id: "unit/test_it.py::TestIt.test_fine", tier: "unit" },
  ];
  const broken = { ...task, verifier: { ...task.verifier, tiers, files, manifest } };
  const verdict = await rig.grade(broken, [MEAN, file("/app/main.c", "int main(void) { return 0 }\n")]);
  expect(verdict.total).toBe(0);
  expect(verdict.tests).toMatchObject([
    { tier: "build", status: "failed", detail: expect.stringMatching(/main\.c:1:\d+: error: expected/) },
    { tier: "unit", status: "passed" },
  ]);
  expect(await rig.grade(broken, [MEAN, file("/app/main.c", "int main(void) { return 0; }\n")])).toMatchObject({
    total: 1,
  });
});
