/** Checks 36 and 49: what the tests assert is stated, and what is stated is tested. */
import type { Task } from "../../../core/task.ts";
import type { Finding } from "../check-contract.ts";
import { fileName, firstLine, sourcesOf } from "./test-sources.ts";

const NAMED_MAX = 5;

/** Check 49, first half: every requirement has a test and every hidden test a requirement. */
export function requirementsCovered(task: Task): Finding {
  const { verifier, requirements = [] } = task;
  if (verifier.kind !== "tests") return { status: "skip", evidence: "its hidden cases are drawn and have no list" };
  const file = task.folder === null ? null : fileName(task, "task.toml");
  if (requirements.length === 0) {
    const evidence = "it lists no requirements; write [[sandlot.requirements]] with id, text and tests for each";
    return { status: "fail", evidence, file };
  }
  const covered = new Set(requirements.flatMap(({ tests }) => tests));
  const bare = verifier.manifest.map(({ id }) => id).filter((id) => !covered.has(id));
  if (bare.length > 0) return { status: "fail", evidence: `no requirement names ${named(bare)}`, file };
  return { status: "pass", evidence: `${requirements.length} requirements over ${covered.size} tests` };
}

/** Check 49, second half: a test that holds two requirements alone would leave both bare; each needs one of its own. */
export function baresRequirement(task: Task): Finding | null {
  const lists = (task.requirements ?? []).map(({ id, tests }) => ({ id, key: [...tests].sort().join("\n") }));
  const twin = lists.find(({ key }, index) => lists.findIndex((other) => other.key === key) < index);
  if (twin === undefined) return null;
  const file = task.folder === null ? null : fileName(task, "task.toml");
  const evidence = `requirement ${twin.id} has the very tests of another; join the two, or give it a test of its own`;
  return { status: "fail", evidence, file };
}

/** Check 36: every path that the tests call or collect is stated in the instruction or lies in the environment. */
export function namesStated(task: Task): Finding {
  const { instruction, files, contract, workdir } = task;
  const visible = files.map(({ bytes }) => new TextDecoder().decode(bytes.subarray(0, 65_536))).join("\n");
  const isStated = (path: string): boolean =>
    instruction.includes(path) ||
    files.some((file) => file.path === path || file.path.startsWith(`${path}/`)) ||
    visible.includes(path);
  const collected = contract.state === "declared" ? contract.files.map(({ path }) => path) : [];
  const silent = collected.find((path) => path !== workdir && !isStated(path));
  if (silent !== undefined) {
    const evidence = `${silent} is collected, and neither the instruction nor the environment names it`;
    return { status: "fail", evidence, file: task.folder === null ? null : fileName(task, "instruction.md") };
  }
  let count = collected.length;
  for (const { path: source, text } of sourcesOf(task)) {
    for (const [, path = ""] of text.matchAll(/subject\.call\(\s*["'`](\/[^"'`:\s{}]+):/g)) {
      count += 1;
      if (isStated(path)) continue;
      const file = fileName(task, `tests/${source}`);
      const line = firstLine(text, new RegExp(path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")))?.line ?? null;
      const evidence = `${file}:${line ?? 1} calls ${path}, which neither the instruction nor the environment names`;
      return { status: "fail", evidence, file, line };
    }
  }
  return { status: "pass", evidence: `${count} paths that are called or collected are stated` };
}

function named(ids: readonly string[]): string {
  const more = ids.length - NAMED_MAX;
  return `${ids.slice(0, NAMED_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
