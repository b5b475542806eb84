/**
 * The hidden side of a task folder: test files under `tests/<tier>/`, and the manifest of the test ids they hold.
 * Ids are found by reading the text, never by running it: `unit/test_mean.py::TestMean.test_empty`.
 */
import { z } from "zod";
import { nearestName } from "../core/naming.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { TestRunner, Tier } from "../core/task.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { textOf } from "./folder-files.ts";
import { taskInvalid } from "./problem.ts";
import { isTestFile, RUNNER_FILES, runnersOf, testIds } from "./test-ids.ts";

export interface ManifestEntry {
  readonly id: string;
  readonly tier: string;
}

export interface TestSource {
  /** Relative to `tests/`. */
  readonly path: string;
  readonly text: string;
}

const TIER_NAMES: readonly string[] = ["build", "unit", "integration", "boundary", "performance"];
export const MANIFEST_FILE = "tests/manifest.json";
const MANIFEST_SCHEMA = z.strictObject({
  tests: z.array(z.strictObject({ id: z.string(), tier: z.string() })).max(10_000),
});

/** Test ids of the given sources under the tiers' runners, in order of path and then of place. */
export function derivedManifest(sources: readonly TestSource[], tiers: readonly Tier[]): readonly ManifestEntry[] {
  return sources
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(({ path, text }) => {
      const tier = tiers.find(({ name }) => name === tierNameOf(path));
      if (tier === undefined || !isTestFile(runnerOf(tier), path)) return [];
      return testIds(runnerOf(tier), path, text).map(({ id }) => ({ id, tier: tier.name }));
    });
}

function tierNameOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/** A tier of test files always has one; the first there was is the default. */
export function runnerOf(tier: Tier): TestRunner {
  return tier.runner ?? "unittest";
}

/** What the manifest of a folder should be. Throws `task_invalid` when a test file cannot be read or holds no test. */
export function foundManifest(
  folder: string,
  files: readonly FolderFile[],
  tiers: readonly Tier[],
): readonly ManifestEntry[] {
  return derivedManifest(testSources(folder, files, tiers), tiers);
}

/** The hidden files and the manifest, checked against the tiers. Throws `task_invalid`. */
export function readTests(
  folder: string,
  files: readonly FolderFile[],
  tiers: readonly Tier[],
  manifestFile: string,
): { readonly files: readonly FileContent[]; readonly manifest: readonly ManifestEntry[] } {
  const sources = testSources(folder, files, tiers);
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
      remedy: `add tests/${bare}/${exampleOf(tiers, bare)} and run sandlot task check --write-manifest, or remove the tier`,
    });
  }
  const contents = files
    .filter(({ path }) => path.startsWith("tests/") && path !== manifestFile)
    .map(
      (file): FileContent => ({ path: `/${file.path}`, bytes: file.bytes, mode: file.isExecutable ? 0o755 : 0o644 }),
    );
  return { files: contents, manifest };
}

function exampleOf(tiers: readonly Tier[], name: string): string {
  const tier = tiers.find((candidate) => candidate.name === name);
  return RUNNER_FILES[tier === undefined ? "unittest" : runnerOf(tier)].example.split(" ")[0] ?? "";
}

/**
 * The test files of a folder as text: of each tier those of its runner, and below a tier that is not declared whatever
 * would be a test there. Throws `task_invalid` for one without a test, or for none at all.
 */
function testSources(folder: string, files: readonly FolderFile[], tiers: readonly Tier[]): readonly TestSource[] {
  if (files.some(({ path }) => path === "tests/test.sh")) {
    throw taskInvalid({
      file: `${folder}/tests/test.sh`,
      message: "belongs to no tier",
      remedy: 'move it to tests/unit/test.sh, with runner = "reward-file" in its tier',
    });
  }
  const sources = files
    .filter(({ path }) => path.startsWith("tests/") && isSource(path.slice(6), tiers))
    .map((file) => ({ path: file.path.slice(6), text: textOf(folder, file) }));
  if (sources.length === 0) {
    throw taskInvalid({
      file: `${folder}/tests`,
      message: "holds no hidden test",
      remedy: `add tests/unit/${RUNNER_FILES.unittest.example}`,
    });
  }
  for (const source of sources) refuseFaulty(folder, source, tiers);
  return sources;
}

/** Folders such as `support/` hold what tests share, whatever the files are called. */
function isSource(path: string, tiers: readonly Tier[]): boolean {
  const tier = tiers.find(({ name }) => name === tierNameOf(path));
  if (tier !== undefined) return isTestFile(runnerOf(tier), path);
  return TIER_NAMES.includes(tierNameOf(path)) && runnersOf([path]).length > 0;
}

function refuseFaulty(folder: string, { path, text }: TestSource, tiers: readonly Tier[]): void {
  const tier = tiers.find(({ name }) => name === tierNameOf(path));
  const runner = tier === undefined ? (runnersOf([path])[0] ?? "unittest") : runnerOf(tier);
  const ids = testIds(runner, path, text).map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (ids.length > 0 && twice === undefined) return;
  throw taskInvalid({
    file: `${folder}/tests/${path}`,
    ...(twice === undefined ? {} : { field: "test", value: twice.slice(path.length + 2) }),
    message: twice === undefined ? "holds no test" : "is defined twice, so that one would hide the other",
    remedy: twice === undefined ? RUNNER_FILES[runner].remedy : "rename one of them",
  });
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
    const [path = ""] = id.split("::");
    if (!/^[a-z]+\/(?:[A-Za-z0-9_-]+\/)*[A-Za-z0-9_.-]+$/.test(path)) {
      throw fail("id", id, "is not a test id such as unit/test_mean.py::TestMean.test_empty");
    }
    if (seen.has(id)) throw fail("id", id, "stands twice");
    if (!tiers.includes(tier)) {
      throw fail("tier", tier, "is not a tier of task.toml", `write ${nearestName(tier, tiers) ?? tiers.join(" or ")}`);
    }
    if (tierNameOf(path) !== tier) throw fail("tier", tier, `differs from the folder of ${id}`);
    if (!sources.some((source) => source.path === path)) throw fail("id", id, "names a file that is not there");
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
