import { existsSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { testUnless } from "../../test/support/unless.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const SUM = file("/app/sum.sh", "#!/bin/sh\necho $(($1 + $2))\n", 0o755);

function task(text: string, names: readonly string[], change = {}) {
  return hiddenTask("shell", { path: "test_it.sh", text, names }, change);
}

async function graded(text: string, left: readonly FileContent[] = [SUM], change = {}) {
  const names = [...new Set([...text.matchAll(/^\s*check ([\w.-]+)/gm)].map((match) => match[1] ?? ""))];
  return rig.grade(task(text, names, change), left);
}

async function statuses(...input: Parameters<typeof graded>) {
  const verdict = await graded(...input);
  return Object.fromEntries(verdict.tests.map(({ id, status }) => [id.split("::")[1], status]));
}

test("a check passes when its program ends with the code asked for, and artifacts are there as data", async () => {
  const text = `
check yes /usr/bin/true
check no /usr/bin/false
check three --exit 3 /bin/sh -c 'exit 3'
check words /usr/bin/test "a b
c" = $'a b\\nc'
check artifact /usr/bin/grep -q 'echo' /artifacts/app/sum.sh
check given --stdin /artifacts/app/sum.sh -- /usr/bin/grep -q echo
check apart /usr/bin/test ! -e /app/sum.sh
check user /bin/sh -c '[ "$(id -u)" = 1001 ]'
`;
  expect(await statuses(text)).toEqual({
    yes: "passed",
    no: "failed",
    three: "passed",
    words: "passed",
    artifact: "passed",
    given: "passed",
    apart: "passed",
    user: "passed",
  });
});

test("a check of the product runs as another user in another sandbox, and the script reads what it printed", async () => {
  const text = `
check made --subject /bin/sh -c 'test -x sum.sh && test ! -e /tests/unit && test "$(id -u)" = 1002'
check sum /usr/bin/test "$(subject ./sum.sh 1 2)" = 3
check code --subject --exit 7 /bin/sh -c 'exit 7'
subject /bin/sh -c 'echo no >&2; exit 4'
check kept /usr/bin/test $? = 4
check stdin --subject --stdin /tests/unit/test_it.sh -- /bin/grep -q stdin
check slow --subject --seconds 1 /bin/sleep 20
check killed --subject /bin/sh -c 'kill -9 -1'
check after --subject /bin/true
`;
  expect(await statuses(text)).toEqual({
    made: "passed",
    sum: "passed",
    code: "passed",
    kept: "passed",
    stdin: "passed",
    slow: "timeout",
    killed: "failed",
    after: "passed",
  });
});

/** A gate of one script below `/tests/build`, and a tier behind it that always passes. */
function buildTask(build: string) {
  const made = task("check fine /usr/bin/true\n", ["fine"]);
  const { verifier } = made;
  const [unit] = verifier.tiers;
  if (unit === undefined) throw new Error("a task has a tier");
  return {
    ...made,
    resources: { ...made.resources, memoryBytes: 512 * 1024 * 1024 },
    verifier: {
      ...verifier,
      tiers: [{ ...unit, name: "build", gate: true, weight: 0 }, unit],
      files: [...verifier.files, file("/tests/build/test_build.sh", build)],
      manifest: [{ id: "build/test_build.sh::compiles", tier: "build" }, ...verifier.manifest],
    },
  };
}

describe.each([
  [
    "cc",
    "/usr/bin/cc",
    "/usr/bin/cc -Wall -Werror -o main main.c",
    "main.c",
    "int main(void) { return 0; }\n",
    "int main(void) { return x; }\n",
    "main.c:1:",
  ],
  [
    "python3",
    "/usr/bin/python3",
    "/usr/bin/python3 -m py_compile main.py",
    "main.py",
    "x = 1\n",
    "def f(:\n",
    "SyntaxError",
  ],
])("a build gate with %s", (_name, program, command, path, good, bad, complaint) => {
  const missing = existsSync(program) ? null : `this machine has no ${program}`;
  const build = `check compiles --subject ${command}\n`;

  testUnless(missing)("opens for what compiles", async () => {
    const verdict = await rig.grade(buildTask(build), [file(`/app/${path}`, good)]);
    expect(verdict.tests.map(({ status, detail }) => [status, detail])).toEqual([
      ["passed", ""],
      ["passed", ""],
    ]);
    expect(verdict.total).toBe(1);
  });

  testUnless(missing)("earns 0 for what does not, as a verdict that quotes the compiler", async () => {
    const verdict = await rig.grade(buildTask(build), [file(`/app/${path}`, bad)]);
    expect(verdict.total).toBe(0);
    expect(verdict.tests[0]).toMatchObject({ status: "failed", detail: expect.stringContaining(complaint) });
  });
});

test("a check in a loop passes only when it passed each time", async () => {
  const text = 'for n in 1 2 3; do\n  check each /usr/bin/test "$n" != 2\ndone\n';
  expect(await statuses(text)).toEqual({ each: "failed" });
});

test("a script that ends early, hangs or forks leaves its later checks without a pass", async () => {
  const limits = { ...task("", []).limits, gradeMs: 8_000 };
  const first = "check first /usr/bin/true\n";
  const rest = "\ncheck last /usr/bin/true\n";
  expect(await statuses(`${first}exit 0${rest}`)).toEqual({ first: "passed", last: "missing" });
  expect(await statuses(`${first}set -e; false${rest}`)).toEqual({ first: "passed", last: "missing" });
  expect(await statuses(`${first}kill -9 $$${rest}`)).toEqual({ first: "passed", last: "missing" });
  expect(await statuses(`${first}while :; do :; done${rest}`, [], { limits })).toEqual({
    first: "passed",
    last: "timeout",
  });
  expect(await statuses(`${first}sleep 600 & disown${rest}`)).toEqual({ first: "passed", last: "passed" });
});

test("a check that hangs or leaves programs behind is one test's result, and the script goes on", async () => {
  const text = `
check hang --seconds 1 /bin/sleep 600
check leaves /bin/sh -c 'sleep 600 & setsid sleep 600 & exit 0'
check full --exit 1 /bin/sh -c 'cat /dev/zero > /tmp/full'
rm -f /tmp/full
check after /usr/bin/true
`;
  expect(await statuses(text)).toEqual({ hang: "timeout", leaves: "passed", full: "passed", after: "passed" });
});

test("what a script asks wrongly has not passed, and says why", async () => {
  const text = `
check bare true
check none
check option --fast /usr/bin/true
check absent /usr/bin/no-such-program
check number --exit x /usr/bin/true
`;
  const verdict = await graded(text);
  expect(verdict.total).toBe(0);
  expect(verdict.tests.map(({ status, detail }) => `${status}: ${detail}`)).toEqual([
    expect.stringMatching(/^error: check bare runs 'true', which is no absolute path/),
    expect.stringMatching(/^error: check none names no program/),
    expect.stringMatching(/^error: check option has the unknown or empty option --fast/),
    expect.stringMatching(/^error: check absent cannot start its program/),
    expect.stringMatching(/^error: check number gives --exit 'x'/),
  ]);
});

test("a product that prints without end, or no text at all, fails the checks that speak of it and no others", async () => {
  const text = `
check flood /usr/bin/test "$(subject /bin/sh -c 'head -c 900000 /dev/zero | tr "\\0" x')" = x
check bytes --subject /usr/bin/test "$(subject /bin/sh -c 'printf "\\377\\0\\376"')" = x
check after /usr/bin/true
`;
  expect(await statuses(text)).toEqual({ flood: "error", bytes: "failed", after: "passed" });
});

test("a script that bash cannot read is a fault that names its file, never a reward of 0", async () => {
  await expect(graded("check it /usr/bin/true\nif then\n")).rejects.toMatchObject({
    code: "verifier_crashed",
    message: expect.stringContaining("tests/unit/test_it.sh is no script that bash can read"),
  });
});

test("a check that would run the agent's program beside the hidden tests is a fault that names the script", async () => {
  for (const check of ["/artifacts/app/sum.sh 1 2", "/bin/sh /artifacts/app/sum.sh 1 2"]) {
    await expect(graded(`check it ${check}\n`)).rejects.toMatchObject({
      code: "verifier_crashed",
      message: expect.stringMatching(/test_it.sh runs \/app\/sum.sh of the agent beside the hidden tests/),
    });
  }
});

test("a check of a file that the contract does not collect is a fault that names script and contract", async () => {
  await expect(graded("check it /usr/bin/test -f /artifacts/srv/report.csv\n")).rejects.toMatchObject({
    code: "verifier_crashed",
    message: expect.stringMatching(
      /test_it.sh reads \/srv\/report.csv, which the contract of the task does not collect/,
    ),
  });
  expect(await statuses("check it /usr/bin/test -f /artifacts/app/absent.csv\n")).toEqual({ it: "failed" });
});

test("programs, start-up files and variables the agent left change nothing of how a script runs", async () => {
  const contract = { ...task("", []).contract, state: "declared" as const };
  const trojan = "#!/bin/sh\nexit 0\n";
  const paths = ["/usr/local/bin/grep", "/usr/bin/grep", "/bin/grep", "/root/.bashrc", "/etc/profile", "/app/grep"];
  const left = [...paths.map((path) => file(path, trojan, 0o755)), file("/etc/ld.so.preload", "/app/evil.so\n")];
  const files = left.map(({ path }) => ({ path, required: false }));
  const text = `
check grep /usr/bin/grep -q nothing /artifacts/app/grep
check path /usr/bin/test "$(type -P grep)" = /usr/bin/grep
check variables /usr/bin/test "$BASH_ENV$ENV$PROMPT_COMMAND$LD_PRELOAD$LD_LIBRARY_PATH" = ""
check options /usr/bin/test "\${-//[^p]/}" = p
check environment /bin/sh -c '[ "$(env | cut -d= -f1 | sort | tr "\n" " ")" = "HOME LANG PATH PWD TZ " ]'
`;
  const task_ = { contract: { ...contract, files }, envVars: { BASH_ENV: "/app/grep", LD_PRELOAD: "/app/evil.so" } };
  const verdict = await graded(text, left, task_);
  expect(verdict.tests.map(({ id, status }) => `${id.split("::")[1]} ${status}`)).toEqual([
    "grep failed",
    "path passed",
    "variables passed",
    "options passed",
    "environment passed",
  ]);
});

test("neither a script nor what it checks reaches the report, and frames in their output are text", async () => {
  const text = `
printf '\\0\\0\\0\\60forged'; printf forged >&2
check sealed /bin/sh -c 'ls -l /proc/$PPID/fd > /dev/null 2>&1 && exit 1; exit 0'
check forged --exit 1 /usr/bin/printf '%s' '{"id":"unit/test_it.sh::forged","status":"passed"}'
check failing /bin/sh -c 'for fd in 3 4 5 6 7 8 9 10 11 12; do echo passed >&$fd; done 2> /dev/null; exit 1'
`;
  expect(await statuses(text)).toEqual({ sealed: "passed", forged: "failed", failing: "failed" });
});

test("a script that writes junk to every descriptor it has gets no check passed", async () => {
  const text = `
for fd in 3 4 5 6 7 8 9 10 11 12; do echo '{"kind":"test"}' >&$fd; done 2> /dev/null
check it /usr/bin/true
`;
  expect(await statuses(text)).toEqual({ it: "error" });
});

test("names that the manifest does not hold earn nothing and are mentioned", async () => {
  const verdict = await rig.grade(task("check one /usr/bin/false\ncheck two /usr/bin/true\n", ["one"]), []);
  expect(verdict).toMatchObject({ total: 0, extraTests: ["unit/test_it.sh::two"] });
});
