/**
 * The tiers of `task.toml`: what each weighs, which must be reached before it, and which runner decides it. A tier
 * without a runner gets the one its test files are written for.
 */
import { nearestName, tomlLine } from "../core/naming.ts";
import { type PerformanceRule, TEST_RUNNERS, type TestRunner, type Tier } from "../core/task.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { taskInvalid } from "./problem.ts";
import type { TaskToml } from "./task-schema.ts";
import { fieldName, type TomlDocument } from "./task-toml.ts";
import { runnersOf } from "./test-ids.ts";

type Declared = NonNullable<NonNullable<TaskToml["sandlot"]>["tiers"]>[number];

const REPEATS = 7;
const NOISE = 0.1;

/** The tiers in their order, against the files of the folder. Throws `task_invalid`. */
export function tiersOf(document: TomlDocument<TaskToml>, files: readonly FolderFile[]): readonly Tier[] {
  const declared: readonly Declared[] = document.value.sandlot?.tiers ?? [{ name: "unit" }];
  refuseDisorder(document, declared);
  const tiers = declared.map((tier, index): Tier => {
    const visibility = tier.visibility ?? "hidden";
    const runner = runnerOf(document, files, tier, index);
    if (runner === "reward-file") requireRisk(document, index);
    return {
      name: tier.name,
      weight: visibility === "visible" ? 0 : (tier.weight ?? 1),
      // A build that fails leaves nothing that the later tiers could speak of.
      gate: tier.gate ?? (tier.veto === true || tier.name === "build"),
      ...(tier.veto === true ? { veto: true } : {}),
      threshold: tier.threshold ?? 1,
      requires: tier.requires ?? [],
      visibility,
      runner,
      ...(tier.reward_mean === true ? { isRewardMean: true } : {}),
      ...(runner === "performance" ? { performance: performanceOf(tier) } : {}),
    };
  });
  if (tiers.some(({ weight }) => weight > 0)) return tiers;
  throw wrong(document, ["sandlot", "tiers"], {
    value: declared.map(({ name }) => name),
    message: "gives weight to no hidden tier, so that nothing could be earned",
    remedy: "give at least one hidden tier a weight above 0",
  });
}

function refuseDisorder(document: TomlDocument<TaskToml>, declared: readonly Declared[]): void {
  const names = declared.map(({ name }) => name);
  for (const [index, tier] of declared.entries()) {
    if (names.indexOf(tier.name) !== index) {
      throw wrong(document, at(index, "name"), {
        value: tier.name,
        message: "stands twice",
        remedy: "merge the two tiers",
      });
    }
    const earlier = names.slice(0, index);
    const missing = tier.requires?.find((name) => !earlier.some((one) => one === name));
    if (missing === undefined) continue;
    const nearest = nearestName(missing, earlier);
    throw wrong(document, at(index, "requires"), {
      value: missing,
      message: "is not a tier declared before this one",
      remedy: nearest === null ? "declare that tier first, or leave it out" : `write "${nearest}"`,
    });
  }
}

/** A script that writes its own reward may run the product beside itself, which its author must have accepted. */
function requireRisk(document: TomlDocument<TaskToml>, index: number): void {
  if (document.value.sandlot?.risk?.includes("in-process-tests") === true) return;
  throw wrong(document, at(index, "runner"), {
    value: "reward-file",
    message: "runs the product beside the tests, which is a weakness that must be accepted",
    remedy: 'add risk = ["in-process-tests"] under [sandlot], or write tests for another runner',
  });
}

/** What is declared; else `performance` for a tier of that name; else what the tier's files are written for. */
function runnerOf(
  document: TomlDocument<TaskToml>,
  files: readonly FolderFile[],
  tier: Declared,
  index: number,
): TestRunner {
  if (tier.runner !== undefined) {
    const runner = TEST_RUNNERS.find((name) => name === tier.runner);
    if (runner !== undefined) return runner;
    const nearest = nearestName(tier.runner, [...TEST_RUNNERS]);
    throw wrong(document, at(index, "runner"), {
      value: tier.runner,
      message: `is not a runner (${TEST_RUNNERS.join(", ")})`,
      remedy: nearest === null ? "write one of them" : `write "${nearest}"`,
    });
  }
  if (tier.name === "performance") return "performance";
  const paths = files.filter(({ path }) => path.startsWith(`tests/${tier.name}/`)).map(({ path }) => path.slice(6));
  const found = runnersOf(paths);
  if (found.length <= 1) return found[0] ?? "unittest";
  throw wrong(document, at(index, "runner"), {
    value: tier.name,
    message: `is needed, because tests/${tier.name}/ holds files of several runners (${found.join(", ")})`,
    remedy: `write runner = "${found[0]}", and move the other files into a tier of their own`,
  });
}

function performanceOf(tier: Declared): PerformanceRule {
  return { repeats: tier.repeats ?? REPEATS, noise: tier.noise ?? NOISE };
}

function at(index: number, key: string): readonly (string | number)[] {
  return ["sandlot", "tiers", index, key];
}

/** A problem of one field of task.toml, with its line. */
export function wrong(
  { file, text }: TomlDocument<TaskToml>,
  path: readonly (string | number)[],
  problem: { readonly value: unknown; readonly message: string; readonly remedy: string },
): Error {
  return taskInvalid({ file, line: tomlLine(text, path), field: fieldName(path), ...problem });
}
