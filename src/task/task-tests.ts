/**
 * The hidden side of a task folder: test files under `tests/<tier>/`, and the manifest of the test ids they hold.
 * Ids are found by reading the text, never by running it: `unit/test_mean.py::TestMean.test_empty`.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { nearestName } from "../core/naming.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { Tier } from "../core/task.ts";
import { type FolderFile, readFolderFiles, textOf } from "./folder-files.ts";
import { taskInvalid } from "./problem.ts";

export interface ManifestEntry {
  readonly id: string;
  readonly tier: string;
}

export interface TestSource {
  /** Relative to `tests/`. */
  readonly path: string;
  readonly text: string;
}

export const MANIFEST_FILE = "tests/manifest.json";
const ID = /^([a-z]+)\/(?:[A-Za-z0-9_-]+\/)*test_[A-Za-z0-9_]+\.py::[A-Za-z_]\w*\.test\w*$/;
const MANIFEST_SCHEMA = z.strictObject({
  tests: z.array(z.strictObject({ id: z.string(), tier: z.string() })).max(10_000),
});

/** Test ids of the given sources, in order of path and then of place, read from `class` and `def` lines. */
export function derivedManifest(sources: readonly TestSource[]): readonly ManifestEntry[] {
  return sources
    .filter(({ path }) => isTestFile(path))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(({ path, text }) =>
      testNames(text).map(({ name }) => ({ id: `${path}::${name}`, tier: path.split("/")[0] ?? "" })),
    );
}

/**
 * `Class.test_method` of each test in a source, with its line from 1. Only methods that stand directly in a class in
 * column 0 count; a test that is inherited or made at run time is not seen.
 */
export function testNames(text: string): readonly { readonly name: string; readonly line: number }[] {
  const names: { name: string; line: number }[] = [];
  let inClass: string | null = null;
  let indent: number | null = null;
  for (const { line, number } of codeLines(text)) {
    const depth = /^\s*/.exec(line)?.[0].length ?? 0;
    const opened = /^class\s+([A-Za-z_]\w*)\s*\(([^)]*)\)?/.exec(line);
    if (opened) {
      const isTestClass = /\bTestCase\b/.test(opened[2] ?? "") || /^Test/.test(opened[1] ?? "");
      inClass = isTestClass ? (opened[1] ?? null) : null;
      indent = null;
      continue;
    }
    if (depth === 0 && !/^[)\]}]/.test(line)) inClass = null;
    if (inClass === null) continue;
    indent ??= depth;
    const method = /^\s+(?:async\s+)?def\s+(test\w*)\s*\(/.exec(line);
    if (method && depth === indent) names.push({ name: `${inClass}.${method[1]}`, line: number });
  }
  return names;
}

/** The lines of a Python source that hold code: no blank ones, no comments, nothing inside a triple-quoted string. */
function* codeLines(text: string): Generator<{ readonly line: string; readonly number: number }> {
  let quote: string | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const isInside = quote !== null;
    for (const [mark] of line.matchAll(/"""|'''/g)) {
      if (quote === null) quote = mark;
      else if (quote === mark) quote = null;
    }
    if (!isInside && line.trim() !== "" && !/^\s*#/.test(line)) yield { line, number: index + 1 };
  }
}

/**
 * Writes `tests/manifest.json` of a task folder from its test files and returns what it wrote.
 * Throws `task_invalid` when a test file cannot be read or holds no test.
 */
export async function writeManifest(folder: string): Promise<readonly ManifestEntry[]> {
  const files = await readFolderFiles(folder);
  const manifest = derivedManifest(testSources(folder, files));
  await writeFile(join(folder, MANIFEST_FILE), `${JSON.stringify({ tests: manifest }, null, 2)}\n`);
  return manifest;
}

/** The hidden files and the manifest, checked against the tiers. Throws `task_invalid`. */
export function readTests(
  folder: string,
  files: readonly FolderFile[],
  tiers: readonly Tier[],
  manifestFile: string,
): { readonly files: readonly FileContent[]; readonly manifest: readonly ManifestEntry[] } {
  const sources = testSources(folder, files);
  const declared = tiers.map(({ name }) => name);
  for (const { path } of sources) {
    const tier = path.split("/")[0] ?? "";
    if (!declared.includes(tier)) {
      throw taskInvalid({
        file: `${folder}/tests/${path}`,
        field: "tier",
        value: tier,
        message: `is not among the tiers of task.toml (${declared.join(", ")})`,
        remedy: `add [[sandlot.tiers]] with name = "${tier}", or move the file`,
      });
    }
  }
  const manifest = readManifest(folder, files, manifestFile, sources, declared);
  const bare = declared.find((tier) => !manifest.some((entry) => entry.tier === tier));
  if (bare !== undefined) {
    throw taskInvalid({
      file: `${folder}/${manifestFile}`,
      field: "tier",
      value: bare,
      message: "has no test",
      remedy: `add tests/${bare}/test_NAME.py and run sandlot task check --write-manifest, or remove the tier`,
    });
  }
  const contents = files
    .filter(({ path }) => path.startsWith("tests/") && path !== manifestFile)
    .map(
      (file): FileContent => ({ path: `/${file.path}`, bytes: file.bytes, mode: file.isExecutable ? 0o755 : 0o644 }),
    );
  return { files: contents, manifest };
}

/** The test files of a folder as text. Throws `task_invalid` for one without a test, or for none at all. */
function testSources(folder: string, files: readonly FolderFile[]): readonly TestSource[] {
  const script = files.find(({ path }) => path === "tests/test.sh");
  if (script) {
    throw taskInvalid({
      file: `${folder}/tests/test.sh`,
      message: "is a test script of another runner, which is not served",
      remedy: "write tests/unit/test_NAME.py with unittest instead",
    });
  }
  const sources = files
    .filter(({ path }) => path.startsWith("tests/") && isTestFile(path.slice(6)))
    .map((file) => ({ path: file.path.slice(6), text: textOf(folder, file) }));
  if (sources.length === 0) {
    throw taskInvalid({
      file: `${folder}/tests`,
      message: "holds no hidden test",
      remedy: "add tests/unit/test_NAME.py with a unittest.TestCase",
    });
  }
  for (const { path, text } of sources) {
    const names = testNames(text).map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (names.length > 0 && twice === undefined) continue;
    throw taskInvalid({
      file: `${folder}/tests/${path}`,
      ...(twice === undefined ? {} : { field: "test", value: twice }),
      message: twice === undefined ? "holds no test" : "is defined twice, so that one would hide the other",
      remedy: twice === undefined ? "write a class TestNAME(unittest.TestCase) with def test_…" : "rename one of them",
    });
  }
  return sources;
}

function isTestFile(path: string): boolean {
  return /^[a-z]+\/(?:.*\/)?test_[A-Za-z0-9_]+\.py$/.test(path);
}

function readManifest(
  folder: string,
  files: readonly FolderFile[],
  manifestFile: string,
  sources: readonly TestSource[],
  tiers: readonly string[],
): readonly ManifestEntry[] {
  const name = `${folder}/${manifestFile}`;
  const file = files.find(({ path }) => path === manifestFile);
  const rewrite = "run sandlot task check --write-manifest on the folder";
  if (!file) throw taskInvalid({ file: name, message: "is missing", remedy: rewrite });
  const { tests } = parseManifest(name, textOf(folder, file), rewrite);
  const seen = new Set<string>();
  for (const [index, { id, tier }] of tests.entries()) {
    const fail = (field: string, value: string, message: string, remedy = rewrite) =>
      taskInvalid({ file: name, field: `tests[${index}].${field}`, value, message, remedy });
    const match = ID.exec(id);
    if (!match) throw fail("id", id, "is not a test id such as unit/test_mean.py::TestMean.test_empty");
    if (seen.has(id)) throw fail("id", id, "stands twice");
    if (!tiers.includes(tier)) {
      throw fail("tier", tier, "is not a tier of task.toml", `write ${nearestName(tier, tiers) ?? tiers.join(" or ")}`);
    }
    if (match[1] !== tier) throw fail("tier", tier, `differs from the folder of ${id}`);
    if (!sources.some(({ path }) => id.startsWith(`${path}::`))) throw fail("id", id, "names a file that is not there");
    seen.add(id);
  }
  return tests;
}

function parseManifest(file: string, text: string, remedy: string): z.infer<typeof MANIFEST_SCHEMA> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw taskInvalid({ file, message: `is not JSON (${String(error)})`, remedy }, error);
  }
  const result = MANIFEST_SCHEMA.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw taskInvalid(
    {
      file,
      field: (issue?.path ?? []).join(".") || "tests",
      message: `is not a list of {"id", "tier"} (${issue?.message ?? "wrong form"})`,
      remedy,
    },
    result.error,
  );
}
