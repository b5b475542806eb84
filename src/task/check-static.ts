/**
 * Checks that read a task and run nothing. Each states an exact fact with file and line; what is only a hint of a
 * fault is a W and never blocks.
 */
import type { Task, Tier } from "../core/task.ts";
import type { Finding } from "./check-report.ts";
import { type NamedTest, pytestNames, unittestNames } from "./python-tests.ts";
import { derivedManifest, runnerOf, type TestSource } from "./task-tests.ts";
import { isTestFile } from "./test-ids.ts";

const INSTRUCTION_CHARACTERS = { min: 40, max: 8_000 };
const OVERLAP_WORDS = 12;

/** Hidden test files of a task as text, with paths relative to `tests/`; none for a task without files. */
function sourcesOf(task: Task): readonly TestSource[] {
  if (task.verifier.kind !== "tests") return [];
  return task.verifier.files
    .filter(({ path }) => /\.(?:py|mjs|js|sh|json)$/.test(path))
    .map(({ path, bytes }) => ({ path: path.slice("/tests/".length), text: new TextDecoder().decode(bytes) }));
}

function fileName(task: Task, path: string): string {
  return task.folder === null ? path : `${task.folder}/${path}`;
}

function firstLine(text: string, pattern: RegExp): { readonly line: number; readonly text: string } | null {
  const lines = text.split("\n");
  const index = lines.findIndex((line) => pattern.test(line));
  return index < 0 ? null : { line: index + 1, text: (lines[index] ?? "").trim() };
}

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

/** The static half of check 29: the manifest is what the files hold, and no test is written to be skipped. */
export function manifestMatches(task: Task): Finding {
  if (task.verifier.kind !== "tests") return { status: "pass", evidence: "the cases are the manifest" };
  const sources = sourcesOf(task);
  const { manifest } = task.verifier;
  const manifestFile = fileName(task, "tests/manifest.json");
  const derived = new Set(derivedManifest(sources, task.verifier.tiers).map(({ id }) => id));
  // One entry for each set of parameters of a test is as good as one for all of them.
  const listed = new Set(manifest.map(({ id }) => (id.endsWith("]") ? id.slice(0, id.indexOf("[")) : id)));
  const unlisted = [...derived].filter((id) => !listed.has(id));
  const absent = [...listed].filter((id) => !derived.has(id));
  if (unlisted.length > 0 || absent.length > 0) {
    const parts = [
      ...(unlisted.length > 0 ? [`not listed: ${unlisted.join(", ")}`] : []),
      ...(absent.length > 0 ? [`listed but not there: ${absent.join(", ")}`] : []),
    ];
    const evidence = `${manifestFile} differs from the test files (${parts.join("; ")}); run --write-manifest`;
    return { status: "fail", evidence, file: manifestFile };
  }
  for (const { path, text } of sources) {
    const hit = firstLine(
      text,
      /^\s*@(?:unittest\.|pytest\.mark\.)?(?:skip|expectedFailure|xfail)|^[^#]*(?:\bself\.skipTest\(|\bSkipTest\b|\bpytest\.skip\(|\btest\.(?:skip|todo)\()/,
    );
    if (hit === null) continue;
    const file = fileName(task, `tests/${path}`);
    return {
      status: "fail",
      evidence: `${file}:${hit.line} may skip a scored test: ${hit.text}`,
      file,
      line: hit.line,
    };
  }
  return { status: "pass", evidence: `${manifest.length} tests, each in the manifest` };
}

/** Check 30: each test method asserts something, itself or through a method whose name begins with `assert`. */
export function testsAssert(task: Task): Finding {
  if (task.verifier.kind !== "tests") return { status: "skip", evidence: "there are no test files" };
  for (const { path, text } of sourcesOf(task)) {
    const lines = text.split("\n");
    for (const { name, line } of pythonTestsOf(task.verifier.tiers, path, text)) {
      const indent = /^\s*/.exec(lines[line - 1] ?? "")?.[0].length ?? 0;
      const rest = lines.slice(line);
      const end = rest.findIndex((text) => text.trim() !== "" && (/^\s*/.exec(text)?.[0].length ?? 0) <= indent);
      const body = rest.slice(0, end < 0 ? rest.length : end);
      if (body.some((text) => /^[^#]*\b(?:assert|fail\()/.test(text))) continue;
      const file = fileName(task, `tests/${path}`);
      return { status: "fail", evidence: `${file}:${line} ${name} asserts nothing`, file, line };
    }
  }
  return { status: "pass", evidence: "each test asserts something" };
}

/** The tests of a Python file of a tier, whose ends can be told by indentation; none for any other file. */
function pythonTestsOf(tiers: readonly Tier[], path: string, text: string): readonly NamedTest[] {
  const tier = tiers.find(({ name }) => path.startsWith(`${name}/`));
  if (tier === undefined || !isTestFile(runnerOf(tier), path)) return [];
  const runner = runnerOf(tier);
  return runner === "unittest" ? unittestNames(text) : runner === "pytest" ? pytestNames(text) : [];
}

/** Check 37: a stranger can read it: absolute paths, no placeholder, a sane length, no hidden characters. */
export function instructionForm(task: Task): Finding {
  const file = task.folder === null ? null : fileName(task, "instruction.md");
  const text = task.instruction;
  const fail = (line: number | null, evidence: string): Finding => {
    const place = file === null ? "" : line === null ? `${file}: ` : `${file}:${line} `;
    return { status: "fail", evidence: `${place}${evidence}`, file, line };
  };
  if (text.length < INSTRUCTION_CHARACTERS.min || text.length > INSTRUCTION_CHARACTERS.max) {
    const { min, max } = INSTRUCTION_CHARACTERS;
    return fail(null, `has ${text.length} characters, not ${min} to ${max}`);
  }
  const placeholder = firstLine(
    text,
    /\bTODO\b|\bTBD\b|\bFIXME\b|\bXXX\b|<(?:your|insert|path)[^>]*>|\{\{.*\}\}|lorem ipsum/i,
  );
  if (placeholder) return fail(placeholder.line, `holds a placeholder: ${placeholder.text}`);
  const hidden = firstLine(text, /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|<!--/);
  if (hidden) return fail(hidden.line, "holds hidden characters or a comment");
  const relative = firstLine(text, /(?:^|[\s(`"'])\.{1,2}\/[A-Za-z0-9_]/);
  if (relative) return fail(relative.line, `names a path that is not absolute: ${relative.text}`);
  return { status: "pass", evidence: `${text.length} characters, no placeholder, no relative path` };
}

/** Check 38: no run of twelve words stands both in the instruction and in the oracle. */
export function noSolutionText(task: Task): Finding {
  const { oracle } = task;
  const solution = [oracle.answer ?? "", ...oracle.files.map(({ bytes }) => new TextDecoder().decode(bytes))].join(
    "\n",
  );
  const runs = new Set(wordRuns(solution));
  const shared = wordRuns(task.instruction).find((run) => runs.has(run));
  if (shared === undefined) return { status: "pass", evidence: `no ${OVERLAP_WORDS} words in common with the oracle` };
  const file = task.folder === null ? null : fileName(task, "instruction.md");
  return { status: "fail", evidence: `the instruction gives away the oracle: ${shared}`, file };
}

function wordRuns(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return words
    .slice(0, Math.max(0, words.length - OVERLAP_WORDS + 1))
    .map((_word, index) => words.slice(index, index + OVERLAP_WORDS).join(" "));
}
