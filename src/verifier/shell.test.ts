import { afterAll, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const SUM = file("/app/sum.sh", '#!/bin/sh\necho $(($1 + $2))\n', 0o755);

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
