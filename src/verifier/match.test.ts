import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { MatchCase, MatchSubject, PlainData, Task } from "../core/task.ts";
import { systemRuntime } from "../runtime/system.ts";
import { sandboxPool } from "../sandbox/pool.ts";
import { namespaceProvider } from "../sandbox/provider-namespace.ts";
import { emptyTask } from "./grading-support.ts";
import { createVerifier } from "./verifier.ts";

const runtime = systemRuntime();
const provider = namespaceProvider({ runtime });
const pool = sandboxPool({ provider, runtime, lentMax: 2, creatingMax: 2, readyMax: 0 });
const verifier = createVerifier({ runtime });

afterAll(async () => {
  await pool.drain();
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

const MIB = 1024 * 1024;
const sums: readonly MatchCase[] = [
  { id: "unit/small", tier: "unit", args: [1, 2], expected: 3 },
  { id: "unit/negative", tier: "unit", args: [5, -9], expected: -4 },
  { id: "unit/large", tier: "unit", args: [40, 41], expected: 81 },
  { id: "unit/zero", tier: "unit", args: [0, 0], expected: 0 },
];

function matchTask(cases: readonly MatchCase[], subject: Partial<MatchSubject> = {}): Task {
  const { resources, ...base } = emptyTask();
  return {
    ...base,
    key: "test/sum",
    resources: { ...resources, memoryBytes: 96 * MIB, diskBytes: 8 * MIB, filesMax: 500, processesMax: 24 },
    contract: { state: "answer", files: [], bytesMax: 0, entriesMax: 0 },
    verifier: {
      kind: "match",
      tiers: [{ name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden" }],
      subject: { language: "python", form: "expression", parameters: ["x", "y"], entry: "f", callMs: 200, ...subject },
      cases: () => cases,
    },
  };
}

let attempts = 0;

function grade(answer: string | null, task: Task = matchTask(sums), sandboxes: SandboxPool = pool) {
  attempts += 1;
  return verifier.grade(
    {
      task,
      artifacts: { answer, files: [], missing: [], hash: "h" },
      gradingSeed: 1n,
      attemptId: `match-test-${attempts}`,
      fence: 1,
      signal: new AbortController().signal,
    },
    sandboxes,
  );
}

function gradeFunction(body: string, cases: readonly MatchCase[] = sums) {
  return grade(body, matchTask(cases, { form: "function" }));
}

const statuses = (verdict: { tests: readonly { status: string }[] }) => verdict.tests.map((one) => one.status);

test("a right expression earns 1, in one sandbox that is gone afterwards", async () => {
  const before = pool.stats();
  const verdict = await grade("x + y");
  expect(verdict).toMatchObject({ total: 1, gradingSeed: "1" });
  expect(verdict.scores).toMatchObject([{ verifier: "match", name: "unit", value: 1 }]);
  expect(verdict.sandboxIds).toHaveLength(1);
  expect(pool.stats()).toMatchObject({ created: before.created + 1, lent: 0 });
});

test("a right function earns 1, an expression right on half of the inputs earns half", async () => {
  expect((await gradeFunction("def f(x, y):\n    return x + y\n")).total).toBe(1);
  const half = await grade("x + y if x % 2 == 0 else 0");
  expect(half.total).toBe(0.5);
  expect(statuses(half)).toEqual(["failed", "failed", "passed", "passed"]);
});

test("an answer that raises fails only the inputs it raises on, and the rest still counts", async () => {
  const verdict = await grade("1 // (x - 5) * 0 + x + y");
  expect(statuses(verdict)).toEqual(["passed", "error", "passed", "passed"]);
  expect(verdict.tests[1]?.detail).toContain("ZeroDivisionError");
});

test.each([
  ["nothing", null],
  ["an empty text", "  \n"],
  ["64 KiB and more", `x + y #${"x".repeat(64 * 1024)}`],
])("submitting %s fails every case without a sandbox", async (_name, answer) => {
  const before = pool.stats().created;
  expect(await grade(answer)).toMatchObject({ total: 0, sandboxIds: [] });
  expect(pool.stats().created).toBe(before);
});

test.each([
  ["a syntax error", "x +"],
  ["a statement in place of an expression", "import os"],
  ["an unknown name", "x + z"],
])("%s fails every case with its reason", async (_name, answer) => {
  const verdict = await grade(answer);
  expect(verdict.total).toBe(0);
  expect(verdict.tests.every((one) => one.status === "error" && one.detail.includes("Error"))).toBe(true);
});

test("a function that is not defined fails every case with its reason", async () => {
  const verdict = await gradeFunction("def g(x, y):\n    return x + y\n");
  expect(verdict.tests[0]).toMatchObject({ status: "error", detail: "NameError: it defines no f" });
});

const values = fc.letrec<{ value: PlainData }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }).map((number) => ({ $int: number.toString() })),
    fc.double().map((number) => ({ $float: Object.is(number, -0) ? "0" : String(number).replace("Infinity", "inf") })),
    fc.string({ unit: "binary", maxLength: 8 }).filter((text) => text.isWellFormed()),
    fc.uint8Array({ maxLength: 4 }).map((bytes) => ({ $bytes: Buffer.from(bytes).toString("hex") })),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => ({ $tuple: items })),
    fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }).map((items) => ({ $set: items })),
    fc.dictionary(
      fc.string({ maxLength: 3 }).filter((key) => !key.startsWith("$")),
      tie("value"),
      { maxKeys: 3 },
    ),
  ),
})).value;

test("every plain value that is handed back unchanged counts as equal", async () => {
  const tagged = fc.sample(values, { numRuns: 300, seed: 11 }).map((value) => tagNaN(value));
  const cases = tagged.map((value, index) => ({ id: `unit/${index}`, tier: "unit", args: [value], expected: value }));
  const verdict = await grade("x", matchTask(cases, { parameters: ["x"] }));
  expect(verdict.tests.filter((one) => one.status !== "passed")).toEqual([]);
});

/** JavaScript spells it NaN, a task nan. */
function tagNaN(value: PlainData): PlainData {
  return JSON.parse(JSON.stringify(value).replaceAll('{"$float":"NaN"}', '{"$float":"nan"}'));
}

const look = { small: 1, zero: 0, half: 0.5 };
test.each<[string, string, PlainData]>([
  ["True for 1", "True", look.small],
  ["1.0 for 1", "1.0", look.small],
  ["1 for 1.0", "1", { $float: "1" }],
  ["'1' for 1", "'1'", look.small],
  ["a tuple for a list", "(1, 2)", [1, 2]],
  ["a set for a list", "{1, 2}", [1, 2]],
  ["a NaN for a number", "float('nan')", look.half],
  ["infinity for a number", "float('inf')", look.half],
  ["a generator for a list", "(i for i in [1, 2])", [1, 2]],
  ["bytes for a text", "b'a'", "a"],
  [
    "a subclass of int that claims to equal everything",
    "type('int', (int,), {'__eq__': lambda s, o: True})(1)",
    look.small,
  ],
  ["an object that equals everything", "type('X', (), {'__eq__': lambda s, o: True})()", look.small],
  ["a list with such an object in it", "[type('X', (), {'__eq__': lambda s, o: True})()]", [1]],
  ["a list that contains itself", "(lambda a: a.append(a) or a)([])", [[]]],
])("%s earns nothing", async (_name, answer, expected) => {
  const verdict = await grade(answer, matchTask([{ id: "unit/one", tier: "unit", args: [1, 2], expected }]));
  expect(verdict).toMatchObject({ total: 0, tests: [{ status: "failed" }] });
});

test("a NaN is right where a NaN is expected", async () => {
  const cases = [{ id: "unit/nan", tier: "unit", args: [1, 2], expected: { $float: "nan" } }];
  expect((await grade("float('nan')", matchTask(cases))).total).toBe(1);
});

test("an answer that hangs on one input fails that one, and the others run in a new process", async () => {
  const verdict = await gradeFunction("def f(x, y):\n    while x == 5: pass\n    return x + y\n");
  expect(statuses(verdict)).toEqual(["passed", "timeout", "passed", "passed"]);
});

test("an answer that exits, on one input or while it loads, fails what it did not answer", async () => {
  const once = await gradeFunction("import os\ndef f(x, y):\n    if x == 5: os._exit(0)\n    return x + y\n");
  expect(statuses(once)).toEqual(["passed", "error", "passed", "passed"]);
  expect((await gradeFunction("import os\nos._exit(0)\n")).total).toBe(0);
  expect((await gradeFunction("raise SystemExit(0)\n")).total).toBe(0);
});

test("an answer that ends its process again and again is given up after a bounded number of processes", async () => {
  const many = Array.from({ length: 12 }, (_, index) => ({
    id: `unit/${index}`,
    tier: "unit",
    args: [index, 1],
    expected: index + 1,
  }));
  const verdict = await gradeFunction("import os\ndef f(x, y):\n    os._exit(0)\n", many);
  expect(verdict.total).toBe(0);
  expect(verdict.tests.at(-1)?.detail).toContain("not run: earlier cases ended 4 processes");
});

test.each([
  ["fills memory", "def f(x, y):\n    a = []\n    while True: a.append(bytearray(1 << 20))\n"],
  [
    "forks without end",
    "import os\ndef f(x, y):\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
  ],
  [
    "fills the disk",
    "def f(x, y):\n    with open('/tmp/big', 'wb') as b:\n        while True: b.write(bytes(1 << 20))\n",
  ],
  ["prints without end", "def f(x, y):\n    while True: print('x' * 65536)\n"],
  ["returns 100 MiB", "def f(x, y):\n    return 'x' * (20 << 20)\n"],
  ["returns a very deep list", "def f(x, y):\n    a = []\n    for _ in range(10000): a = [a]\n    return a\n"],
  ["kills every process it can see", "import os\ndef f(x, y):\n    os.kill(-1, 9)\n"],
  ["closes every descriptor", "import os\ndef f(x, y):\n    os.closerange(0, 64)\n    return x + y\n"],
  ["sleeps", "import time\ndef f(x, y):\n    time.sleep(60)\n"],
])("an answer that %s earns 0, as a verdict", async (_name, body) => {
  const verdict = await gradeFunction(body, sums.slice(0, 2));
  expect(verdict.total).toBe(0);
  expect((await grade("x + y")).total).toBe(1);
});

/** Answers that forge what the driver would say. Each is told one input at a time and never what is expected. */
test.each([
  [
    "a passed verdict on descriptor 3",
    "import os\nos.write(3, b'loaded\\npassed\\n' * 50)\ndef f(x, y):\n    return 0\n",
  ],
  [
    "a reply for the next input, sent before it was",
    "import os, sys\ndef f(x, y):\n    n = sys._getframe(1).f_back.f_locals['nonce']\n" +
      '    v = {1: -4, 5: 81, 40: 0}[x]\n    os.write(3, (n + \' value ["int","%d"]\\n\' % v).encode() * 20)\n    return 7\n',
  ],
  [
    "a reply for every input by a thread that guesses nonces",
    "import os, threading\ndef g():\n    while True:\n        for v in (3, -4, 81, 0): os.write(3, b'0' * 32 + b' value [\"int\",\"%d\"]\\n' % v)\n" +
      "threading.Thread(target=g, daemon=True).start()\ndef f(x, y):\n    return 7\n",
  ],
  [
    "equality by replaced built-ins",
    "import builtins\nbuiltins.type = lambda v: int\nbuiltins.hex = str\ndef f(x, y):\n    return '7'\n",
  ],
  [
    "the expected value, read from the stack",
    "import sys\ndef f(x, y):\n    g = sys._getframe()\n    while g:\n        if 'expected' in g.f_locals: return g.f_locals['expected']\n        g = g.f_back\n    return None\n",
  ],
  [
    "a trace function that rewrites the encoder's view",
    "import sys\nsys.settrace(lambda *a: None)\ndef f(x, y):\n    return 7\n",
  ],
])("forging %s earns nothing", async (_name, body) => {
  expect((await gradeFunction(body, sums.slice(0, 3))).total).toBe(0);
});

test("an answer sees neither another input nor the expected value nor a file of ours", async () => {
  const body =
    "import os, gc\ndef f(x, y):\n    seen = [open('/proc/self/cmdline').read(), str(dict(os.environ)), str(os.listdir('/'))]\n" +
    "    seen += [str(o) for o in gc.get_objects() if type(o) is str or type(o) is dict]\n" +
    "    return any('86423' in s for s in seen)\n";
  const cases = [
    { id: "unit/first", tier: "unit", args: [1, 2], expected: false },
    { id: "unit/second", tier: "unit", args: [86_423, 2], expected: 186_423 },
  ];
  expect(statuses(await gradeFunction(body, cases))[0]).toBe("passed");
});

test("equal inputs give an equal verdict, each time", async () => {
  const plain = async (body: string) => {
    const { total, scores, tests } = await gradeFunction(body);
    return { total, scores, tests: tests.map(({ id, status, detail }) => ({ id, status, detail })) };
  };
  for (const body of ["def f(x, y):\n    return x + y * (x != 40)\n", "import os\ndef f(x, y):\n    os._exit(x)\n"]) {
    expect(await plain(body)).toEqual(await plain(body));
  }
});

test("a grading that is cancelled throws, and gives no verdict", async () => {
  const stop = new AbortController();
  const task = matchTask(sums, { callMs: 20_000 });
  const graded = verifier.grade(
    {
      task,
      artifacts: { answer: "[0 for _ in iter(int, 1)]", files: [], missing: [], hash: "h" },
      gradingSeed: 1n,
      attemptId: "match-test-cancel",
      fence: 1,
      signal: stop.signal,
    },
    pool,
  );
  const outcome = expect(graded).rejects.toThrow();
  await runtime.sleep(200);
  stop.abort();
  await outcome;
});
