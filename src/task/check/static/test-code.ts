/**
 * Checks 22 and 30: what stands in the hidden test files. Each states an exact fact with file and line.
 */
import type { Task, Tier } from "../../../core/task.ts";
import { type NamedTest, pytestNames, unittestNames } from "../../python-tests.ts";
import { runnerOf } from "../../task-tests.ts";
import { isTestFile } from "../../test-ids.ts";
import type { Finding } from "../check-contract.ts";
import { fileName, firstLine, sourcesOf } from "./test-sources.ts";

/** Check 22: no test file imports or names what lies in `solution/` or `wrong/`. */
export function verifierIndependent(task: Task): Finding {
  if (task.verifier.kind !== "tests") return { status: "skip", evidence: "there are no test files" };
  const sources = sourcesOf(task);
  for (const { path, text } of sources) {
    const hit = firstLine(text, /^[^#]*(?:^|["'\s/])(?:solution|wrong)\/|^\s*(?:from|import)\s+(?:solution|wrong)\b/);
    if (hit === null) continue;
    const file = fileName(task, `tests/${path}`);
    return {
      status: "fail",
      evidence: `${file}:${hit.line} reaches for a solution: ${hit.text}`,
      file,
      line: hit.line,
    };
  }
  return { status: "pass", evidence: `${sources.length} test files name no solution` };
}

/** Check 30: each test method asserts something, itself or through a method whose name begins with `assert`. */
export function testsAssert(task: Task): Finding {
  if (task.verifier.kind !== "tests") return { status: "skip", evidence: "there are no test files" };
  for (const { path, text } of sourcesOf(task)) {
    const lines = text.split("\n");
    for (const { name, line } of pythonTestsOf(task.verifier.tiers, path, text)) {
      if (bodyOf(lines, line).some((text) => /^[^#]*\b(?:assert|fail\()/.test(text))) continue;
      const file = fileName(task, `tests/${path}`);
      return { status: "fail", evidence: `${file}:${line} ${name} asserts nothing`, file, line };
    }
  }
  return { status: "pass", evidence: "each test asserts something" };
}

/** The lines of a Python definition after its first, from 1: up to one that is indented no deeper, outside of long texts. */
function bodyOf(lines: readonly string[], first: number): readonly string[] {
  const depth = (text: string): number => /^\s*/.exec(text)?.[0].length ?? 0;
  const indent = depth(lines[first - 1] ?? "");
  let isText = false;
  const rest = lines.slice(first);
  const end = rest.findIndex((text) => {
    const isEnd = !isText && text.trim() !== "" && depth(text) <= indent;
    if ((text.match(/"""|'''/g)?.length ?? 0) % 2 === 1) isText = !isText;
    return isEnd;
  });
  return end < 0 ? rest : rest.slice(0, end);
}

/** The tests of a Python file of a tier, whose ends can be told by indentation; none for any other file. */
function pythonTestsOf(tiers: readonly Tier[], path: string, text: string): readonly NamedTest[] {
  const tier = tiers.find(({ name }) => path.startsWith(`${name}/`));
  if (tier === undefined || !isTestFile(runnerOf(tier), path)) return [];
  const runner = runnerOf(tier);
  return runner === "unittest" ? unittestNames(text) : runner === "pytest" ? pytestNames(text) : [];
}
