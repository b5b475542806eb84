import { afterAll, describe, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import type { ArtifactContract, Comparison, MatchCase, MatchSubject, PlainData, Task } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";
import { createVerifier } from "./verifier.ts";

const rig = gradingRig();
const verifier = createVerifier({ runtime: rig.runtime });

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

type Row = readonly [args: readonly PlainData[], expected: PlainData, compare?: Comparison];

function matchTask(subject: Partial<MatchSubject>, rows: readonly Row[], contract?: ArtifactContract): Task {
  const base = hiddenTask("unittest", { path: "none", text: "", names: [] });
  const cases = rows.map(([args, expected, compare], index): MatchCase => {
    return { id: `unit/${index}`, tier: "unit", args, expected, ...(compare && { compare }) };
  });
  return {
    ...base,
    ...(contract && { contract }),
    verifier: {
      kind: "match",
      tiers: [{ name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden" }],
      subject: { language: "python", form: "module", parameters: [], entry: "total", callMs: 500, ...subject },
      cases: () => cases,
    },
  };
}

const statuses = (verdict: { tests: readonly { status: string }[] }) => verdict.tests.map((one) => one.status);

describe("a module", () => {
  const subject = { form: "module", file: "/app/tally.py" } as const;
  const sums: Row[] = [
    [[[1, 2]], 3],
    [[[]], 0],
  ];

  test("among the artifacts is called with hidden inputs, beside its siblings", async () => {
    const left = [
      file(
        "/app/tally.py",
        "from app_parts import add\ndef total(xs):\n    s = 0\n    for x in xs: s = add(s, x)\n    return s\n",
      ),
      file("/app/app_parts.py", "def add(a, b):\n    return a + b\n"),
    ];
    expect(await rig.grade(matchTask(subject, sums), left)).toMatchObject({ total: 1 });
  });

  test("that the agent did not make fails every case without a sandbox", async () => {
    const verdict = await rig.grade(matchTask(subject, sums), [file("/app/other.py", "")]);
    expect(verdict).toMatchObject({ total: 0, sandboxIds: [] });
    expect(verdict.tests[0]?.detail).toContain("/app/tally.py was not made");
  });

  test("that the contract does not collect is the task's fault, and named", async () => {
    const contract = {
      state: "declared",
      files: [{ path: "/app/other", required: true }],
      bytesMax: 9,
      entriesMax: 9,
    } as const;
    const graded = rig.grade(matchTask(subject, sums, contract), []);
    await expect(graded).rejects.toMatchObject({
      code: "task_invalid",
      message: expect.stringContaining("/app/tally.py"),
    });
    await expect(rig.grade(matchTask({ form: "module" }, sums), [])).rejects.toMatchObject({ code: "task_invalid" });
  });

  test("can neither change nor replace itself for the inputs to come", async () => {
    const text = `
import os
def total(xs):
    for change in (lambda: open(__file__, "w"), lambda: os.remove(__file__), lambda: os.rename("/app", "/app2")):
        try:
            change()
            return "changed"
        except OSError:
            pass
    return sum(xs)
`;
    expect(await rig.grade(matchTask(subject, sums), [file("/app/tally.py", text)])).toMatchObject({ total: 1 });
  });

  test("finds no expected value: not on the stack, not in /proc, not in files", async () => {
    const text = `
import os, sys, gc
def total(xs):
    seen = [str(o) for o in gc.get_objects() if type(o) in (str, dict, list)]
    frame = sys._getframe()
    while frame:
        seen.append(str(frame.f_locals)); frame = frame.f_back
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            try: seen.append(open(f"/proc/{pid}/{name}", "rb").read().decode("latin1"))
            except OSError: pass
    for folder, _, names in list(os.walk("/app")) + list(os.walk("/tmp")) + list(os.walk("/run")):
        for name in names:
            try: seen.append(open(os.path.join(folder, name), "rb").read().decode("latin1"))
            except OSError: pass
    return any("771" + "993" in text for text in seen)
`;
    const rows: Row[] = [
      [[[1]], false],
      [[[2]], 771_993],
    ];
    expect(statuses(await rig.grade(matchTask(subject, rows), [file("/app/tally.py", text)]))).toEqual([
      "passed",
      "failed",
    ]);
  });
});

describe("a program", () => {
  const subject = { form: "program", file: "/app/sum.py" } as const;
  const sums: Row[] = [
    [["1 2\n"], "3\n"],
    [["40 2\n"], "42"],
  ];
  const good = "import sys\nprint(sum(map(int, sys.stdin.read().split())))\n";

  test("reads its one argument from standard input, and what it prints is compared", async () => {
    expect(await rig.grade(matchTask(subject, sums), [file("/app/sum.py", good)])).toMatchObject({ total: 1 });
    expect(await rig.grade(matchTask(subject, sums), [file("/app/sum.py", "print(3)\n")])).toMatchObject({
      total: 0.5,
    });
  });

  test.each([
    ["/app/sum.sh", "read a b; echo $((a + b))"],
    ["/app/sum", "#!/bin/sh\nread a b\necho $((a + b))\n"],
    ["/app/sum", "#!/usr/bin/env python3\nprint(sum(map(int, input().split())))\n"],
  ])("%s is run by its extension or its first line: %j", async (path, text) => {
    const graded = await rig.grade(matchTask({ form: "program", file: path }, sums), [file(path, text)]);
    expect(graded).toMatchObject({ total: 1 });
  });

  test.each([
    ["no first line", "echo 3\n"],
    ["an interpreter of its own", "#!/app/python3\nprint(3)\n"],
    ["an interpreter in /tmp", "#!/tmp/sh\necho 3\n"],
  ])("with %s is not run, and told why", async (_name, text) => {
    const verdict = await rig.grade(matchTask({ form: "program", file: "/app/sum" }, sums), [file("/app/sum", text)]);
    expect(verdict.total).toBe(0);
    expect(verdict.tests[0]?.detail).toContain("cannot be run");
  });

  test.each([
    ["hangs", "import time\ntime.sleep(60)\n", "timeout"],
    ["exits with an error after printing the answer", `${good}sys.exit(3)\n`, "error"],
    ["floods", "while True: print('3' * 65536)\n", "error"],
    ["prints bytes that are no text", "import sys\nsys.stdout.buffer.write(b'\\xff3')\n", "error"],
    ["kills what it can see", "import os\nprint(3, flush=True)\nos.kill(-1, 9)\n", "error"],
    ["prints nothing", "", "failed"],
    ["prints every candidate", "for i in range(100): print(i)\n", "failed"],
  ])("that %s earns 0, and each input gets a process of its own", async (_name, text, status) => {
    const verdict = await rig.grade(matchTask(subject, sums.slice(0, 1)), [file("/app/sum.py", text)]);
    expect(statuses(verdict)).toEqual([status]);
  });

  test("that leaves a child behind does not answer the next input with it", async () => {
    const text = `
import os, sys, time
n = sum(map(int, sys.stdin.read().split()))
if os.fork() == 0:
    time.sleep(1)
    print(42)
else:
    print(n if n != 42 else 0)
`;
    expect(statuses(await rig.grade(matchTask(subject, sums), [file("/app/sum.py", text)]))).toEqual([
      "passed",
      "failed",
    ]);
  });

  test("is held to numbers and lines where numbers and lists are expected", async () => {
    const near: Comparison = { kind: "numeric", absolute: 1e-6, relative: 0 };
    const rows: Row[] = [
      [["0.33333333\n"], { $float: "0.33333333333" }, near],
      [["1 2.0000001 3\n"], [1, 2, 3], near],
      [["b\na\n"], ["a", "b"], { kind: "unordered" }],
      [["nan\n"], { $float: "1" }, near],
      [["1 or 2\n"], 1, near],
      [["2^{10}\n"], "1024", { kind: "math" }],
      [["1024 or 2\n"], "1024", { kind: "math" }],
    ];
    const verdict = await rig.grade(matchTask(subject, rows), [
      file("/app/sum.py", "print(input())\ntry:\n    print(input())\nexcept EOFError: pass\n"),
    ]);
    expect(statuses(verdict)).toEqual(["passed", "passed", "passed", "failed", "failed", "passed", "failed"]);
  });

  test("whose case has another argument than a text is the task's fault", async () => {
    const graded = rig.grade(matchTask(subject, [[[1], "1"]]), [file("/app/sum.py", good)]);
    await expect(graded).rejects.toMatchObject({ code: "task_invalid", message: expect.stringContaining("unit/0") });
  });
});

describe("a submitted text", () => {
  const grade = (answer: string | null, rows: readonly Row[]) =>
    verifier.grade(
      {
        task: matchTask({ form: "text" }, rows),
        artifacts: { answer, files: [] as FileContent[], missing: [], hash: "h" },
        gradingSeed: 1n,
        attemptId: "text",
        fence: 1,
        signal: new AbortController().signal,
      },
      rig.pool,
    );

  test("is compared itself, and nothing runs", async () => {
    const before = rig.pool.stats().created;
    expect(await grade(" Paris\n", [[[], "Paris"]])).toMatchObject({ total: 1, sandboxIds: [] });
    expect(await grade("Paris or London", [[[], "Paris"]])).toMatchObject({ total: 0 });
    expect(await grade(null, [[[], "Paris"]])).toMatchObject({ total: 0 });
    expect(await grade("__import__('os').system('true')", [[[], 0]])).toMatchObject({ total: 0 });
    expect(rig.pool.stats().created).toBe(before);
  });

  test("may be mathematics, and then names one value", async () => {
    const math: Comparison = { kind: "math" };
    expect(await grade("$\\frac{2}{4}$", [[[], "1/2", math]])).toMatchObject({ total: 1 });
    for (const answer of ["1/2 or 1/3", "0.5, 1", "0.50000000000001", "9^9^9^9", "nan"])
      expect(await grade(answer, [[[], "1/2", math]])).toMatchObject({ total: 0 });
  });
});
