import { afterAll, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";
import { systemRuntime } from "../runtime/system.ts";
import { sandboxPool } from "../sandbox/pool.ts";
import { namespaceProvider } from "../sandbox/provider-namespace.ts";
import { emptyTask, file } from "./grading-support.ts";
import { createVerifier } from "./verifier.ts";

const runtime = systemRuntime();
const provider = namespaceProvider({ runtime });
const pool = sandboxPool({ provider, runtime, lentMax: 4, creatingMax: 2, readyMax: 0 });
const verifier = createVerifier({ runtime });

afterAll(async () => {
  await pool.drain();
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

const TESTS = "unit/test_stats.py";

const HEAD = "import os, signal, unittest\nimport sandlot_subject as s\nclass TestIt(unittest.TestCase):\n";
const MEAN = "def mean(values):\n    return sum(values) / len(values)\n";

/** A task with one hidden test file; each given body becomes a method of `TestIt`. */
function folderTask(methods: Readonly<Record<string, string>>, change: Partial<Task> = {}): Task {
  const body = Object.entries(methods).map(
    ([name, lines]) => `    def test_${name}(self):\n        ${lines.split("\n").join("\n        ")}\n`,
  );
  return {
    ...emptyTask(),
    key: "test/stats",
    files: [file("/app/stats.py", "def mean(values):\n    return 0\n"), file("/app/data.txt", "as shipped")],
    verifier: {
      kind: "tests",
      tiers: [
        { name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden", runner: "unittest" },
      ],
      files: [file(`/tests/${TESTS}`, HEAD + body.join(""))],
      manifest: Object.keys(methods).map((name) => ({ id: `${TESTS}::TestIt.test_${name}`, tier: "unit" })),
    },
    ...change,
  };
}

let attempts = 0;

function grade(task: Task, product: string | readonly FileContent[] = MEAN, sandboxes: SandboxPool = pool) {
  attempts += 1;
  const files = typeof product === "string" ? [file("/app/stats.py", product)] : product;
  return verifier.grade(
    {
      task,
      artifacts: { answer: null, files, missing: [], hash: "h" },
      gradingSeed: 5n,
      attemptId: `unittest-test-${attempts}`,
      fence: 1,
      signal: new AbortController().signal,
    },
    sandboxes,
  );
}

const CALL = 'self.assertEqual(s.subject.call("stats.py:mean", [[1, 2, 3]]), 2.0)';

test("hidden tests call the agent's program in another sandbox than their own", async () => {
  const verdict = await grade(
    folderTask({
      call: CALL,
      apart: 'self.assertFalse(os.path.exists("/app/stats.py"))\nself.assertEqual(os.getuid(), 1001)',
      user: 'self.assertEqual(s.subject.run(["/usr/bin/id", "-u"]).stdout, b"1002\\n")',
    }),
  );
  expect(verdict.tests.map(({ status, detail }) => [status, detail])).toEqual([
    ["passed", ""],
    ["passed", ""],
    ["passed", ""],
  ]);
  expect(verdict).toMatchObject({ total: 1, scores: [{ verifier: "unittest", value: 1 }] });
  expect(verdict.sandboxIds).toHaveLength(2);
  expect(pool.stats().lent).toBe(0);
});

test("tests that only read artifacts claim no subject sandbox, and cannot change the artifacts", async () => {
  const read = 'path = s.artifacts / "app" / "stats.py"\nself.assertIn("def mean", path.read_text())';
  const write = 'with self.assertRaises(PermissionError): (s.artifacts / "app" / "stats.py").write_text("")';
  const verdict = await grade(folderTask({ read, write }));
  expect(verdict).toMatchObject({ total: 1 });
  expect(verdict.sandboxIds).toHaveLength(1);
});

test("every plain value survives the way to the subject and back with its exact type", async () => {
  const echo =
    'for value in [None, True, 1, 1.0, float("inf"), 2**90, -2**90, "ä\\n\\"\\\\", b"\\x00", [1, (2,)], {3}, frozenset(), {"a": {1: 2}}]:\n' +
    '    got = s.subject.call("stats.py:echo", [value], non_finite=True)\n    self.assertEqual((type(got), got), (type(value), value))';
  expect(await grade(folderTask({ echo }), "def echo(x):\n    return x\n")).toMatchObject({ total: 1 });
});

test("what the subject raises, returns and prints reaches the test as data", async () => {
  const verdict = await grade(
    folderTask({
      raises:
        'with self.assertRaises(s.SubjectError) as caught: s.subject.call("stats.py:mean", [[]])\nself.assertEqual(caught.exception.type_name, "ZeroDivisionError")',
      named: 'self.assertEqual(s.subject.call("stats.py:mean", [], {"values": [4]}), 4.0)',
      run: 'ran = s.subject.run(["/bin/sh", "-c", "cat; echo no >&2; exit 3"], stdin=b"in")\nself.assertEqual((ran.exit_code, ran.stdout, ran.stderr, ran.timed_out), (3, b"in", b"no\\n", False))',
      slow: 'self.assertTrue(s.subject.run(["/bin/sleep", "30"], timeout_ms=200).timed_out)',
      seed: 'self.assertEqual(s.grading_seed, 5)\nself.assertEqual(s.random("a").random(), s.random("a").random())\nself.assertNotEqual(s.random("a").random(), s.random("b").random())',
    }),
  );
  expect(verdict.tests.filter((one) => one.status !== "passed")).toEqual([]);
});

test("skipped, expected to fail, missing, crashed and hanging tests have not passed", async () => {
  const task = folderTask({
    fine: "pass",
    skip: 'self.skipTest("not today")',
    wrong: "self.assertEqual(1, 2)",
    raises: 'raise ValueError("x")',
    crash: "s.artifacts\nos.kill(os.getpid(), signal.SIGSEGV)",
    hang: "s.artifacts\nwhile True: pass",
    part: "for i in range(3):\n    with self.subTest(i=i): self.assertNotEqual(i, 1)",
  });
  const spec = task.verifier;
  if (spec.kind !== "tests") throw new Error("a task of test files");
  const added = ["absent", "expected"].map((name) => ({ id: `${TESTS}::TestIt.test_${name}`, tier: "unit" }));
  const manifest = [...spec.manifest, ...added];
  const expected = "    test_expected = unittest.expectedFailure(lambda self: self.fail())\n";
  const files = spec.files.map(({ path, bytes }) => file(path, Buffer.from(bytes).toString("utf8") + expected));
  const limits = { ...task.limits, gradeMs: 6_000 };
  const verdict = await grade({ ...task, limits, verifier: { ...spec, files, manifest } });
  expect(Object.fromEntries(verdict.tests.map(({ id, status }) => [id.split("test_")[2], status]))).toEqual({
    fine: "passed",
    skip: "skipped",
    wrong: "failed",
    raises: "error",
    crash: "error",
    hang: "timeout",
    part: "failed",
    absent: "missing",
    expected: "failed",
  });
  expect(verdict.total).toBe(1 / 9);
});

test("a test that the manifest does not name earns nothing and is mentioned", async () => {
  const task = folderTask({ wanted: "self.fail()", extra: "pass" });
  const spec = task.verifier;
  if (spec.kind !== "tests") throw new Error("a task of test files");
  const verdict = await grade({ ...task, verifier: { ...spec, manifest: spec.manifest.slice(0, 1) } });
  expect(verdict.total).toBe(0);
  expect(verdict.tests).toHaveLength(1);
  expect(verdict.extraTests).toEqual([expect.stringContaining("test_extra")]);
});

test("the subject sandbox holds what the agent left: a deleted file stays deleted, folders and other files stand", async () => {
  const task = folderTask(
    {
      deleted: 'self.assertNotEqual(s.subject.run(["/bin/cat", "data.txt"]).exit_code, 0)',
      added: 'self.assertEqual(s.subject.run(["./new.sh"]).stdout, b"new\\n")',
      folder: 'self.assertEqual(s.subject.run(["/bin/sh", "-c", "echo x > out/y"]).exit_code, 0)',
      outside: 'self.assertEqual(s.subject.run(["/bin/cat", "/srv/kept"]).stdout, b"kept")',
    },
    { setup: "mkdir out; mkdir -p /srv; printf kept > /srv/kept" },
  );
  const verdict = await grade(task, [file("/app/new.sh", "#!/bin/sh\necho new\n", 0o755)]);
  expect(verdict.tests.filter((one) => one.status !== "passed")).toEqual([]);
});

/** Programs that try to pass the call they are given, or to end the grading. None knows what is expected. */
test.each([
  ["a passed test by exiting with code 0", "import os\nos._exit(0)\n"],
  ["a passed test by raising SkipTest", "import unittest\ndef mean(v):\n    raise unittest.SkipTest('no')\n"],
  [
    "equality by an object that equals everything",
    "class A:\n    def __eq__(s, o): return True\ndef mean(v):\n    return A()\n",
  ],
  [
    "equality by a lying subclass",
    "class F(float):\n    def __eq__(s, o): return True\ndef mean(v):\n    return F(9)\n",
  ],
  [
    "a report on descriptors 3 to 9",
    "import os\nfor fd in range(3, 10):\n    try: os.write(fd, b'passed' * 999)\n    except OSError: pass\ndef mean(v):\n    return 0\n",
  ],
  ["a timeout of the grading by hanging", "def mean(v):\n    while True: pass\n"],
  ["a fault by filling memory", "def mean(v):\n    a = []\n    while True: a.append(bytearray(1 << 20))\n"],
  ["a fault by killing all it can see", "import os\ndef mean(v):\n    os.kill(-1, 9)\n"],
  ["a test hook in the work folder", "def mean(v):\n    return 0\n"],
])("forging %s earns 0, as a verdict", async (_name, product) => {
  const hooks = ["conftest.py", "sitecustomize.py", "usercustomize.py", "unittest.py", "sandlot_subject.py"];
  const planted = hooks.map((name) => file(`/app/${name}`, "import os\nos._exit(0)\n"));
  const task = folderTask({ call: CALL.replace("[[1, 2, 3]]", "[[1, 2, 3]], timeout_ms=400") });
  const verdict = await grade(task, [file("/app/stats.py", product), ...planted]);
  expect(verdict.total).toBe(0);
});

test("a program that hangs in every test uses up its time as a verdict, never as a verifier fault", async () => {
  const calls = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`call${index}`, CALL]));
  const task = folderTask(calls);
  const verdict = await grade(
    { ...task, limits: { ...task.limits, gradeMs: 5_000 } },
    "def mean(v):\n    while 1: pass\n",
  );
  expect(verdict.total).toBe(0);
  expect(new Set(verdict.tests.map((one) => one.status))).toEqual(new Set(["timeout"]));
});

test("a program that makes every failure as long as it can be is a verdict, however many tests there are", async () => {
  // What it returns, written into the complaint of each test: twelve bytes a character in a report.
  const once = "if not hasattr(type(self), 'said'): type(self).said = s.subject.call('stats.py:mean', [[]])\n";
  const tests = Array.from({ length: 1_100 }, (_, index) => [`say${index}`, `${once}self.fail(type(self).said)`]);
  const verdict = await grade(folderTask(Object.fromEntries(tests)), "def mean(v):\n    return chr(0x1f600) * 3000\n");
  expect(verdict.total).toBe(0);
  expect(new Set(verdict.tests.map((one) => one.status))).toEqual(new Set(["failed"]));
});

test("preparing the subject's sandbox costs a test none of its time", async () => {
  const task = folderTask({ call: CALL }, { setup: "sleep 1.5" });
  const verdict = await grade({ ...task, limits: { ...task.limits, gradeMs: 4_000 } });
  expect(verdict.tests).toMatchObject([{ status: "passed" }]);
});

test("gradings that each need two sandboxes of a pool of two do not stop each other", async () => {
  const narrow = sandboxPool({ provider, runtime, lentMax: 2, creatingMax: 2, readyMax: 0 });
  const task = folderTask({ call: CALL });
  const verdicts = await Promise.all([1, 2, 3].map(() => grade(task, MEAN, narrow)));
  expect(verdicts.map((verdict) => verdict.total)).toEqual([1, 1, 1]);
  await narrow.drain();
});

test.each([
  ["killed", "os.kill(os.getppid(), signal.SIGKILL)", "verifier_crashed"],
  ["stopped for ever", "os.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass", "verifier_timeout"],
])("a runner that is %s is a verifier fault, never a reward of 0", async (_name, line, code) => {
  const task = folderTask({ one: "pass", two: line });
  const graded = grade({ ...task, limits: { ...task.limits, gradeMs: 3_000 } });
  await expect(graded).rejects.toMatchObject({ code });
});

test("even a test file cannot write results: it reaches neither the runner's descriptors nor its memory", async () => {
  const reach =
    "for fd in (3, 4, 5, 6):\n    with self.assertRaises(OSError): os.write(fd, b'x')\n" +
    'with self.assertRaises(OSError): os.listdir(f"/proc/{os.getppid()}/fd")\n' +
    'with self.assertRaises(OSError): open(f"/proc/{os.getppid()}/mem", "rb")';
  const verdict = await grade(folderTask({ reach }));
  expect(verdict.tests).toMatchObject([{ status: "passed" }]);
});

test("an artifact whose path leaves its folder is refused as a verifier fault", async () => {
  const graded = grade(folderTask({ call: CALL }), [file("/../tests/unit/test_stats.py", "")]);
  await expect(graded).rejects.toMatchObject({ code: "artifact_lost" });
});

test("equal artifacts give an equal verdict, each time", async () => {
  const task = folderTask({ call: CALL, wrong: "self.fail()", exit: 's.subject.call("stats.py:leave", [])' });
  const plain = async () => {
    const { total, scores, tests } = await grade(task, `${MEAN}import os\ndef leave():\n    os._exit(0)\n`);
    return { total, scores, tests: tests.map(({ id, status, detail }) => ({ id, status, detail })) };
  };
  expect(await plain()).toEqual(await plain());
});
