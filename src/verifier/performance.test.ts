import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import type { Task } from "../core/task.ts";
import type { Verdict } from "../core/verifier.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";
import { performanceScore } from "./performance-measure.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const WORKLOAD = `
def make(random):
    return [[random.randrange(15000) for _ in range(1500)]]
def check(args, value):
    return type(value) is int and value == len(set(args[0]))
`;
/** Counts distinct numbers in quadratic time. */
const SLOW = `
def distinct(xs):
    seen = []
    for x in xs:
        for y in seen:
            if x == y: break
        else: seen.append(x)
    return len(seen)
`;
const FAST = "def distinct(xs):\n    return len(set(xs))\n";
const CALL = JSON.stringify({ call: "/app/tally.py:distinct", callMs: 4_000 });

function speedTask(change: Readonly<Record<string, string | null>> = {}): Task {
  const base = hiddenTask("performance", { path: "none", text: "", names: [] });
  const texts = {
    "performance.json": CALL,
    "workload.py": WORKLOAD,
    "baseline/app/tally.py": SLOW,
    "reference/app/tally.py": FAST,
    ...change,
  };
  const files = Object.entries(texts).flatMap(([name, text]) => {
    return text === null ? [] : [file(`/tests/performance/${name}`, text)];
  });
  return {
    ...base,
    verifier: {
      kind: "tests",
      tiers: [
        {
          name: "performance",
          runner: "performance",
          // A wide band: other work on the machine must not make an equal one look faster.
          performance: { repeats: 3, noise: 0.6 },
          weight: 1,
          gate: false,
          threshold: 0.5,
          requires: [],
          visibility: "hidden",
        },
      ],
      files,
      manifest: [{ id: "performance/speed", tier: "performance" }],
    },
  };
}

function grade(text: string, task: Task = speedTask()) {
  return rig.grade(task, [file("/app/tally.py", text)]);
}

type Found = Pick<Verdict, "total" | "tests" | "measures">;

const scoreOf = ({ measures }: Found): number => measures[0]?.score ?? Number.NaN;

describe("the score of a program", () => {
  test("that is as fast as the reference is high, in clean sandboxes that are gone afterwards", async () => {
    const verdict = await grade(FAST);
    expect(verdict.tests).toMatchObject([{ id: "performance/speed", status: "passed" }]);
    expect(verdict.measures).toMatchObject([{ tier: "performance", test: "performance/speed", isUnphysical: false }]);
    expect(verdict.total).toBe(scoreOf(verdict));
    expect(verdict.total).toBeGreaterThan(0.6);
    expect(new Set(verdict.sandboxIds).size).toBe(4);
  });

  test("that is the baseline again is 0, though its outputs are right", async () => {
    expect(await grade(SLOW)).toMatchObject({ total: 0, tests: [{ status: "passed" }], measures: [{ score: 0 }] });
  });

  test.each([
    [
      "remembers results by input",
      `${SLOW}slow = distinct\nknown = {}\ndef distinct(xs):\n    key = tuple(xs)\n    if key not in known: known[key] = slow(xs)\n    return known[key]\n`,
    ],
    [
      "patches its clocks",
      `${SLOW}import time\nfor name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):\n    setattr(time, name, lambda: 0.0)\n`,
    ],
    [
      "works again in a thread after it has answered",
      `${SLOW}import threading\nslow = distinct\ndef distinct(xs):\n    threading.Thread(target=slow, args=(xs,)).start()\n    return len(set(xs))\n`,
    ],
    [
      "works again in a child after it has answered",
      `${SLOW}import os\nslow = distinct\ndef distinct(xs):\n    if os.fork() == 0:\n        slow(xs)\n        os._exit(0)\n    return len(set(xs))\n`,
    ],
    ["sleeps instead of working", "import time\ndef distinct(xs):\n    time.sleep(0.25)\n    return len(set(xs))\n"],
    [
      "lets a thread sleep for it",
      "import threading, time\ndef distinct(xs):\n    t = threading.Thread(target=time.sleep, args=(0.25,))\n    t.start()\n    t.join()\n    return len(set(xs))\n",
    ],
  ])("that %s gains nothing by it", async (_name, text) => {
    const verdict = await grade(text);
    expect(verdict.tests[0]?.status).toBe("passed");
    expect(scoreOf(verdict)).toBeLessThan(0.5);
  });
});

test.each([
  ["a wrong output", "def distinct(xs):\n    return len(xs) + 1\n", "failed"],
  [
    "a right output in the first round alone",
    `${FAST}n = 0\nright = distinct\ndef distinct(xs):\n    global n\n    n += 1\n    return right(xs) if n < 3 else 0\n`,
    "failed",
  ],
  [
    "an object that equals everything",
    "class E(int):\n    __eq__ = lambda s, o: True\n    __hash__ = int.__hash__\ndef distinct(xs):\n    return E(1)\n",
    "failed",
  ],
  ["NaN", "def distinct(xs):\n    return float('nan')\n", "failed"],
  [
    "a forged line for a later round",
    "import os\nos.write(3, b'loaded\\n' * 9)\ndef distinct(xs):\n    os.write(3, b'value [\"int\",\"1\"]\\n' * 9)\n    return 0\n",
    "failed",
  ],
  ["an exception", "def distinct(xs):\n    raise KeyError(1)\n", "error"],
  ["no function of that name", "def other(xs):\n    return 1\n", "error"],
  ["its end", "import os\ndef distinct(xs):\n    os._exit(0)\n", "error"],
])("%s earns 0 and is not measured", async (_name, text, status) => {
  expect(await grade(text)).toMatchObject({ total: 0, tests: [{ status }], measures: [] });
});

test("a program that hangs is a verdict, not a fault of the verifier", async () => {
  const task = speedTask({ "performance.json": JSON.stringify({ call: "tally.py:distinct", callMs: 300 }) });
  expect(await grade("def distinct(xs):\n    while True: pass\n", task)).toMatchObject({
    total: 0,
    tests: [{ status: "timeout" }],
  });
  const sleeps = await grade("import time\ndef distinct(xs):\n    time.sleep(60)\n", task);
  expect(sleeps).toMatchObject({ total: 0, tests: [{ status: "timeout" }] });
});

test("a value that ends the check is a wrong output, where the task's own outputs could be checked", async () => {
  const check = "def check(args, value):\n    return value + 0 == len(set(args[0]))\n";
  const task = speedTask({ "workload.py": WORKLOAD.replace(/def check.*$/s, check) });
  for (const value of ["'text'", "[1]", "None"]) {
    const verdict = await grade(`def distinct(xs):\n    return ${value}\n`, task);
    expect(verdict).toMatchObject({ total: 0, tests: [{ status: "failed" }], measures: [] });
  }
});

test("a program that sleeps away the time for grading while it is loaded is a verdict, too", async () => {
  const task = { ...speedTask(), limits: { ...speedTask().limits, gradeMs: 8_000 } };
  const verdict = await grade(`import time\ntime.sleep(9)\n${FAST}`, task);
  expect(verdict).toMatchObject({ total: 0, tests: [{ status: "timeout" }], measures: [] });
});

test("the subject's sandbox holds neither workload, baseline nor reference", async () => {
  const text = `${FAST}
import os
for root in ("/tests", "/artifacts", "/run", "/tmp", "/solution", "/logs"):
    for folder, _, names in os.walk(root):
        if names: raise RuntimeError(folder + " holds " + str(names))
for folder, _, names in os.walk("/app"):
    if sorted(names) != ["tally.py"]: raise RuntimeError(str(names))
`;
  expect((await grade(text)).tests).toMatchObject([{ detail: expect.stringContaining("subject"), status: "passed" }]);
});

test("a program that was not made fails without a sandbox", async () => {
  const left: FileContent[] = [];
  expect(await rig.grade(speedTask(), left)).toMatchObject({ total: 0, sandboxIds: [], measures: [] });
});

test.each([
  ["no performance.json", { "performance.json": null }, "task_invalid", "performance.json"],
  ["junk in performance.json", { "performance.json": "{" }, "task_invalid", "performance.json"],
  ["an unknown key", { "performance.json": '{"call":"a.py:b","runs":3}' }, "task_invalid", "runs"],
  ["no call", { "performance.json": "{}" }, "task_invalid", "call"],
  ["no baseline", { "baseline/app/tally.py": null }, "task_invalid", "/tests/performance/baseline/app/tally.py"],
  [
    "a workload without make",
    { "workload.py": WORKLOAD.replace("def make(", "def inputs(") },
    "verifier_crashed",
    "it defines no make(random)",
  ],
  [
    "a workload that raises",
    { "workload.py": "def make(random):\n    raise ValueError('x')\n" },
    "verifier_crashed",
    "workload.py",
  ],
  [
    "a workload that checks with no boolean",
    { "workload.py": WORKLOAD.replace("return type", "return 1 or type") },
    "verifier_crashed",
    "workload.py",
  ],
  [
    "a reference with a wrong output",
    { "reference/app/tally.py": "def distinct(xs):\n    return 0\n" },
    "verifier_crashed",
    "reference",
  ],
  ["a reference that is no faster", { "reference/app/tally.py": SLOW }, "verifier_crashed", "not faster"],
])("a task with %s is never the subject's fault, and the file is named", async (_name, change, code, named) => {
  await expect(grade(FAST, speedTask(change))).rejects.toMatchObject({ code, message: expect.stringContaining(named) });
});

const ms = fc.double({ min: 0.001, max: 1e6, noNaN: true });

test("the formula stays in [0, 1], is 1 at the reference, 0 at the baseline and in its noise, and never falls with speed", () => {
  fc.assert(
    fc.property(ms, fc.double({ min: 1.2, max: 1e3, noNaN: true }), ms, ms, (baseline, gain, one, other) => {
      const reference = baseline / gain;
      const score = (subject: number): number => {
        return (
          performanceScore({ baseline, reference, subject }, { noise: 0.1 }, [baseline / subject])?.score ?? Number.NaN
        );
      };
      expect(score(reference)).toBeCloseTo(1, 9);
      for (const factor of [1, 1.09, 0.92]) expect(score(baseline / factor)).toBe(0);
      expect(score(Math.min(one, other))).toBeGreaterThanOrEqual(score(Math.max(one, other)));
      expect(score(one)).toBeGreaterThanOrEqual(0);
      expect(score(one)).toBeLessThanOrEqual(1);
    }),
  );
});

test("a median that noise alone moved earns nothing, where the rounds do not agree", () => {
  const medians = { baseline: 100, reference: 10, subject: 60 };
  const score = (ratios: readonly number[]) => performanceScore(medians, { noise: 0.1 }, ratios)?.score;
  expect(score([1.7, 1.7, 0.9, 1.7, 1.6, 0.8, 1.7])).toBe(0);
  expect(score([1.7, 1.7, 1.7, 1.6, 1.6, 0.8, 1.7])).toBeCloseTo(Math.log(100 / 60) / Math.log(10));
  expect(score([1.7, 1.6, 1])).toBe(0);
});

test("what runs within the noise of the reference earns all of it, so that an oracle earns 1 every time", () => {
  const score = (subject: number) =>
    performanceScore({ baseline: 100, reference: 10, subject }, { noise: 0.1 }, [100 / subject])?.score ?? Number.NaN;
  expect([score(10), score(10.9)]).toEqual([1, 1]);
  expect(score(11.2)).toBeLessThan(1);
});

test("faster than three times the reference is said to be unphysical, and earns no more than 1", () => {
  const medians = { baseline: 100, reference: 10, subject: 3 };
  expect(performanceScore(medians, { noise: 0.1 }, [100 / 3])).toEqual({ score: 1, isUnphysical: true });
  expect(performanceScore({ ...medians, subject: 4 }, { noise: 0.1 }, [25])).toEqual({ score: 1, isUnphysical: false });
});

test("a reference within the noise of its baseline scores nothing", () => {
  for (const reference of [100, 95, 120, 0, Number.NaN])
    expect(performanceScore({ baseline: 100, reference, subject: 10 }, { noise: 0.1 }, [10])).toBeNull();
});
