import { join } from "node:path";
import { expect, test } from "vitest";
import { Failure } from "../../core/errors.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { Script, Task } from "../../core/task.ts";
import type { TestResult, TestStatus } from "../../core/verifier.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { type Changes, GOOD_FOLDER, tomlWith, withFolder } from "../folder-fixture-support.ts";
import { loadGenerator } from "../generator.ts";
import type { ScriptRun } from "./check-contract.ts";
import type { CheckReport } from "./check-report.ts";
import { type CheckRootsOptions, checkRoots } from "./check-roots.ts";
import { CHECKS, unmatchedChecks } from "./registry.ts";
import type { ScriptRunner } from "./run-ledger.ts";

const UNIT = "unit/test_out.py::TestOut.test_text";
const BOUNDARY = "boundary/test_out.py::TestOut.test_no_line_end";

/** A graded run in which exactly the named tests passed; both tiers weigh the same. */
function graded(passed: readonly string[], status: TestStatus = "failed"): ScriptRun {
  const tests = [UNIT, BOUNDARY].map((id): TestResult => {
    const tier = id.split("/")[0] ?? "";
    const isPassed = passed.includes(id);
    return {
      id,
      tier,
      visibility: "hidden",
      status: isPassed ? "passed" : status,
      durationMs: 1,
      detail: "hello != bye",
    };
  });
  const reward = passed.length / 2;
  const outcome = {
    kind: "graded",
    cause: "completed",
    stopReason: "submitted",
    reward,
    scores: [],
    isTruncated: false,
  } as const;
  return { outcome, tests, document: null };
}

function failed(code: "sandbox_lost" | "task_invalid" | "verifier_crashed"): ScriptRun {
  const outcome: Outcome = { kind: "failed", cause: "infra_before", failure: code, message: "it broke" };
  return { outcome, tests: [], document: null };
}

/** What an honest task does with each script. */
function honest(_task: Task, script: Script | null): ScriptRun {
  if (script === null || script.name === "empty") return graded([]);
  return script.name === "line-end" ? graded([UNIT]) : graded([UNIT, BOUNDARY]);
}

type Run = (task: Task, script: Script | null, repeat: number) => ScriptRun;

function options(run: Run, more: Partial<CheckRootsOptions> = {}): CheckRootsOptions {
  return {
    profile: "quick",
    runScript: async ({ task, script, repeat }) => run(task, script, repeat),
    withAgentSandbox: () => Promise.reject(new Failure("sandbox_unavailable", "no sandbox here")),
    openGenerator: loadGenerator,
    runtime: systemRuntime(),
    signal: new AbortController().signal,
    ...{ taskMs: 60_000, tasksAtOnce: 2, seeds: 3, only: [], memory: null, isResumed: false, isForgetting: false },
    ...{ judge: null, history: async () => [] },
    ...more,
  };
}

/** Of the profile `release`, the checks that need no sandbox of their own. */
const SCRIPTED = [
  ...["folder-valid", "oracle-passes", "nop-fails", "oracle-stable", "wrong-rejected", "alternatives-pass"],
  ...["verifier-independent", "test-manifest", "tests-assert", "instruction-form", "no-solution-text"],
];

async function check(run: Run, changes: Changes = {}, more: Partial<CheckRootsOptions> = {}): Promise<CheckReport> {
  const scripted = {
    profile: "release",
    only: SCRIPTED,
    checks: CHECKS.filter(({ id }) => SCRIPTED.includes(id)),
  } as const;
  return withFolder(changes, async (folder) => {
    const [report] = await checkRoots([folder], options(run, { ...scripted, ...more }));
    if (report === undefined) throw new Error("a folder that is checked has a report");
    return report;
  });
}

function finding(report: CheckReport, id: string) {
  const found = report.checks.find((entry) => entry.id === id);
  if (!found) throw new Error(`no check ${id}`);
  return found;
}

test("an honest task is valid, and every check says what it saw", async () => {
  const report = await check(honest);
  expect(report.verdict).toBe("valid");
  expect(report.checks.map(({ number, status }) => [number, status])).toEqual(
    [1, 3, 4, 5, 17, 18, 22, 29, 30, 37, 38].map((number) => [number, "pass"]),
  );
  expect(report.checks.every(({ evidence }) => evidence !== "" && !evidence.includes("\n"))).toBe(true);
});

test("equal runs are shared between checks: each script is run as often as the check that asks for most", async () => {
  const runs: string[] = [];
  await check((task, script, repeat) => {
    runs.push(`${script?.name ?? "nop"} ${repeat}`);
    return honest(task, script);
  });
  const times = { empty: 2, "line-end": 2, nop: 3, oracle: 20, python: 3 };
  const wanted = Object.entries(times).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, repeat) => `${name} ${repeat}`),
  );
  expect(runs.sort()).toEqual(wanted.sort());
});

test("every check of the catalogue is built once, but for those that are named here", () => {
  expect(unmatchedChecks()).toEqual({ missing: ["clock-locale", "tolerances", "tests-cover-oracle"], stray: [] });
});

test("an oracle that passes each test and is not fast enough is told so", async () => {
  const { tests } = graded([UNIT, BOUNDARY]);
  const slow: ScriptRun = { tests, outcome: graded([UNIT]).outcome, document: null };
  const report = await check((task, script) => (script?.name === "oracle" ? slow : honest(task, script)));
  expect(finding(report, "oracle-passes").evidence).toMatch(
    /earned 0\.5 though no test failed.*as fast as the reference/,
  );
});

test("a fault planted in the oracle makes the task invalid, and names the oracle and the tests it fails", async () => {
  const report = await check((task, script) => (script?.name === "oracle" ? graded([UNIT]) : honest(task, script)));
  expect(report.verdict).toBe("invalid");
  expect(finding(report, "oracle-passes")).toMatchObject({ status: "fail", severity: "E" });
  expect(finding(report, "oracle-passes").evidence).toContain(
    `run 1 of the oracle earned 0.5; failing tests: ${BOUNDARY}`,
  );
  expect(finding(report, "oracle-passes").file).toMatch(/greet\/solution\/solve\.sh$/);
  expect(finding(report, "nop-fails").status).toBe("pass");
});

test("a test file that cannot be loaded is named with the reason the runner gave", async () => {
  const { outcome, tests } = graded([UNIT], "missing");
  const said = tests.map((result, index) => ({
    ...result,
    detail: index === 0 ? "\nboundary/test_out.py: SyntaxError" : "",
  }));
  const report = await check((task, script) =>
    script === null ? honest(task, script) : { outcome, tests: said, document: null },
  );
  expect(finding(report, "oracle-passes").evidence).toContain(`${BOUNDARY} (boundary/test_out.py: SyntaxError)`);
});

test("a verifier that passes everything makes the task invalid, and names what got through", async () => {
  const report = await check(() => graded([UNIT, BOUNDARY]));
  expect(report.verdict).toBe("invalid");
  expect(finding(report, "nop-fails")).toMatchObject({ status: "fail" });
  expect(finding(report, "nop-fails").evidence).toContain(
    `doing nothing earned 1; passing tests: ${UNIT}, ${BOUNDARY}`,
  );
  expect(finding(report, "wrong-rejected").evidence).toContain("wrong solution empty earned 1, above its limit of 0");
  expect(finding(report, "wrong-rejected").evidence).toContain("wrong solution line-end earned 1");
});

test("a verifier that fails everything makes the task invalid by its oracle", async () => {
  const report = await check(() => graded([]));
  expect(report.verdict).toBe("invalid");
  expect(finding(report, "oracle-passes").status).toBe("fail");
  expect(finding(report, "alternatives-pass").status).toBe("fail");
});

test("a wrong solution must fail the tier it names, whatever it earns", async () => {
  const report = await check((task, script) =>
    script?.name === "line-end" ? graded([BOUNDARY]) : honest(task, script),
  );
  expect(finding(report, "wrong-rejected")).toMatchObject({ status: "fail" });
  expect(finding(report, "wrong-rejected").evidence).toBe(
    "wrong solution line-end passed the tier boundary, which it must fail",
  );
  expect(finding(report, "wrong-rejected").file).toMatch(/wrong\/line-end\/solve\.sh$/);
});

test("a wrong solution may not earn more than it states, even when it fails its tier", async () => {
  const report = await check((task, script) => (script?.name === "empty" ? graded([BOUNDARY]) : honest(task, script)));
  expect(finding(report, "wrong-rejected").evidence).toBe("wrong solution empty earned 0.5, above its limit of 0");
  expect(report.verdict).toBe("invalid");
});

test("an oracle that passes only sometimes is not stable, and the test that flips is named", async () => {
  const report = await check((task, script, repeat) =>
    script?.name === "oracle" && repeat === 2 ? graded([BOUNDARY], "timeout") : honest(task, script),
  );
  expect(report.verdict).toBe("invalid");
  expect(finding(report, "oracle-stable").evidence).toBe(`runs 1 and 3 of the oracle differ in ${UNIT}`);
});

test("a lost sandbox leaves the check open: not assessed, incomplete, never a pass and never a fail", async () => {
  const report = await check((task, script, repeat) => (repeat === 1 ? failed("sandbox_lost") : honest(task, script)));
  expect(report.verdict).toBe("incomplete");
  for (const id of ["oracle-passes", "nop-fails", "oracle-stable", "wrong-rejected", "test-manifest"]) {
    expect(finding(report, id)).toMatchObject({ status: "not-assessed" });
  }
  expect(finding(report, "nop-fails").evidence).toContain("sandbox_lost");
});

test("a fault of the task outweighs a check that is open", async () => {
  const report = await check((_task, script) =>
    script?.name === "empty" ? failed("verifier_crashed") : graded([UNIT]),
  );
  expect(finding(report, "wrong-rejected").status).toBe("not-assessed");
  expect(report.verdict).toBe("invalid");
});

test("a set-up that fails is the task's own fault", async () => {
  const report = await check(() => failed("task_invalid"));
  expect(finding(report, "oracle-passes")).toMatchObject({ status: "fail" });
  expect(report.verdict).toBe("invalid");
});

test("a runner that throws does not stop the other checks", async () => {
  const report = await check((task, script) => {
    if (script === null) throw new Failure("sandbox_unavailable", "no namespaces");
    return honest(task, script);
  });
  expect(finding(report, "nop-fails")).toMatchObject({ status: "not-assessed" });
  expect(finding(report, "nop-fails").evidence).toContain("no namespaces");
  expect(finding(report, "oracle-passes").status).toBe("pass");
});

test("a check that is stopped is incomplete and runs nothing more", async () => {
  const stop = new AbortController();
  stop.abort();
  let runs = 0;
  const report = await check(
    (task, script) => {
      runs += 1;
      return honest(task, script);
    },
    {},
    { signal: stop.signal },
  );
  expect(runs).toBe(0);
  expect(report.verdict).toBe("incomplete");
});

test("a skipped test is no pass, and a listed test without a result is named", async () => {
  const skipping = await check((task, script) =>
    script?.name === "oracle"
      ? { ...graded([UNIT], "skipped"), outcome: graded([UNIT, BOUNDARY]).outcome }
      : honest(task, script),
  );
  expect(finding(skipping, "test-manifest").evidence).toBe(`skipped: ${BOUNDARY}`);
  const silent = await check((task, script) => ({ ...honest(task, script), tests: graded([UNIT], "missing").tests }));
  expect(finding(silent, "test-manifest").evidence).toBe(`no result came for ${BOUNDARY}`);
});

test("a task with fewer than two wrong solutions is not proved", async () => {
  const report = await check(honest, { "wrong/empty/solve.sh": null, "wrong/empty/expect.toml": null });
  expect(finding(report, "wrong-rejected").evidence).toBe(
    "1 of at least 2 wrong solutions are there; write wrong/NAME/solve.sh and wrong/NAME/expect.toml for each",
  );
  expect(report.verdict).toBe("invalid");
});

test("a task without another correct way skips that check and stays valid", async () => {
  const report = await check(honest, { "solution/alternative/python/solve.sh": null });
  expect(finding(report, "alternatives-pass").status).toBe("skip");
  expect(report.verdict).toBe("valid");
});

const UNIT_FILE = "tests/unit/test_out.py";
const unit = (body: string) => ({
  [UNIT_FILE]: String(GOOD_FOLDER[UNIT_FILE]).replace("self.assertEqual(1, 1)", body),
});

test.each([
  [
    "verifier-independent",
    unit('assert open("/solution/solve.sh").read()'),
    /unit\/test_out\.py:6 reaches for a solution/,
  ],
  [
    "test-manifest",
    { "tests/manifest.json": String(GOOD_FOLDER["tests/manifest.json"]).replace("test_text", "test_txt") },
    /not listed: unit\/test_out\.py::TestOut\.test_text; listed but not there: .*test_txt/,
  ],
  ["test-manifest", unit('self.skipTest("slow")'), /unit\/test_out\.py:6 may skip a scored test/],
  ["tests-assert", unit("print(1)"), /unit\/test_out\.py:5 TestOut\.test_text asserts nothing/],
  [
    "instruction-form",
    { "instruction.md": "Write <your answer> into the file that the tests look for, somewhere.\n" },
    /instruction\.md:1 holds a placeholder/,
  ],
  [
    "instruction-form",
    { "instruction.md": "Write the text hello into the file ./out.txt, without a line end, and stop.\n" },
    /instruction\.md:1 names a path that is not absolute/,
  ],
  ["instruction-form", { "instruction.md": "Write hello.\n" }, /has 13 characters/],
  [
    "no-solution-text",
    {
      "instruction.md": "Run this: printf a b c d e f g h i j k l m > /app/out.txt and then submit.\n",
      "solution/solve.sh": "printf a b c d e f g h i j k l m > /app/out.txt\n",
    },
    /gives away the oracle/,
  ],
] as const)("a fault that can be read is found without running anything: %s", async (id, changes, evidence) => {
  const report = await check(honest, changes);
  expect(finding(report, id)).toMatchObject({ status: "fail" });
  expect(finding(report, id).evidence).toMatch(evidence);
});

test("a folder that cannot be read is a report with file and line, and its siblings are checked", async () => {
  await withFolder(tomlWith("timeout_sec = 60", "timeout_sec = -60"), async (broken) => {
    const seen: string[] = [];
    const reports = await checkRoots([join(broken, ".."), "tasks/shell-files/tidy-shell-files"], {
      ...options(honest),
      onReport: ({ verdict }) => seen.push(verdict),
    });
    expect(reports.map(({ key, kind }) => [key, kind])).toEqual([
      ["greet", "folder"],
      ["sandlot/tidy-shell-files", "folder"],
    ]);
    expect(reports[0]?.verdict).toBe("invalid");
    expect(reports[0]?.checks).toHaveLength(1);
    expect(reports[0]?.checks[0]).toMatchObject({ id: "folder-valid", status: "fail", line: 9 });
    expect(reports[0]?.checks[0]?.file).toMatch(/greet\/task\.toml$/);
    expect(seen).toHaveLength(2);
  });
});

test("roots that overlap are checked once", async () => {
  await withFolder({}, async (folder) => {
    const reports = await checkRoots([join(folder, ".."), `${folder}/.`, folder], options(honest));
    expect(reports.map(({ verdict }) => verdict)).toEqual(["valid"]);
  });
});

test("two tasks of one name are told apart by an error on the second", async () => {
  await withFolder({}, async (first) => {
    await withFolder({}, async (second) => {
      const reports = await checkRoots([first, second], options(honest));
      expect(reports.map(({ verdict }) => verdict)).toEqual(["valid", "invalid"]);
      expect(reports[1]?.checks[0]?.evidence).toContain(`is also the name of ${first}`);
    });
  });
});

test("three tasks of a generator are checked as one report, over its splits", async () => {
  const keys = new Set<string>();
  const run: ScriptRunner = async ({ task, script }) => {
    keys.add(task.key);
    const wrong = task.wrong.find((solution) => solution.script.name === script?.name);
    const reward = script === null ? 0 : (wrong?.rewardMax ?? 1);
    const status = reward === 1 ? "passed" : "failed";
    const tests = task.verifier.tiers.map(
      ({ name }): TestResult => ({
        id: `${name}/1`,
        tier: name,
        visibility: "hidden",
        status,
        durationMs: 1,
        detail: "",
      }),
    );
    return {
      outcome: { kind: "graded", cause: "completed", stopReason: "submitted", reward, scores: [], isTruncated: false },
      tests,
      document: null,
    };
  };
  const scripted = { profile: "release", checks: CHECKS.filter(({ id }) => SCRIPTED.includes(id)) } as const;
  const [report] = await checkRoots(["tasks/generator/first-light"], options(honest, { ...scripted, runScript: run }));
  expect(report).toMatchObject({ key: "generator/first-light", kind: "generator", verdict: "valid" });
  expect([...keys].map((key) => key.replace(/-\d+-\d+$/, "")).sort()).toEqual([
    ...["first-light/held-out", "first-light/held-out-hard", "first-light/train"],
  ]);
  const [lying] = await checkRoots(
    ["tasks/generator/first-light"],
    options(honest, { ...scripted, runScript: async () => graded([]) }),
  );
  if (lying === undefined) throw new Error("a generator has a report");
  expect(finding(lying, "oracle-passes").evidence).toMatch(
    /first-light\/train-1-0: run 1 of the oracle earned 0.*held-out-hard/,
  );
});
