import { describe, expect, test } from "vitest";
import type { RunLevelRow } from "../../core/detector.ts";
import { type Random, randomFrom } from "../../core/random.ts";
import { rewardJumps, runFindings, runSignals } from "./run-level.ts";

const VERSIONS = 500;
const TASKS = ["a", "b", "c", "d"];

interface Course {
  /** Of the hidden tests, by the policy version as a share of the run. */
  readonly skill: (at: number) => number;
  /** How often the policy passes by a trick that hidden tests do not pay. */
  readonly trick?: (at: number) => number;
  /** How often it passes by one that they pay, in training only. */
  readonly leak?: (at: number) => number;
  readonly discards?: (at: number) => number;
  readonly format?: number;
  /** No detector sees what it does. */
  readonly isUnseen?: boolean;
}

/** Four training episodes and one held-out episode of each policy version. */
function run(random: Random, course: Course, versions = VERSIONS): RunLevelRow[] {
  const rows: RunLevelRow[] = [];
  for (let policyVersion = 0; policyVersion < versions; policyVersion += 1)
    for (let member = 0; member < 5; member += 1) {
      const at = policyVersion / VERSIONS;
      const split = member === 4 ? "held-out" : "train";
      const isDiscarded = random.float() < (course.discards?.(at) ?? 0.02);
      const isTrick = random.float() < (course.trick?.(at) ?? 0);
      const isLeak = split === "train" && random.float() < (course.leak?.(at) ?? 0);
      const passes = isLeak || random.float() < course.skill(at);
      rows.push({
        taskKey: TASKS[member % 4] ?? "a",
        policyVersion,
        split,
        reward: isDiscarded ? null : passes ? 1 : 0,
        visibleShare: passes || isTrick || random.float() < course.skill(at) ? 1 : 0.5,
        hiddenShare: passes ? 1 : 0.3,
        formatShare: course.format ?? null,
        isDiscarded,
        findings:
          (isTrick || isLeak) && course.isUnseen !== true && random.float() < 0.7
            ? [{ tier: "B" }]
            : random.float() < 0.01
              ? [{ tier: "B" }]
              : [],
      });
    }
  return rows;
}

const learns = (at: number): number => 0.2 + 0.6 / (1 + Math.exp(-12 * (at - 0.4)));
const names = (rows: readonly RunLevelRow[], entropies: readonly number[] = []): string[] =>
  runFindings(rows, entropies).map(({ detector, pattern }) => `${detector} ${pattern}`);

test("50 clean runs of 500 steps, whose entropy falls as it does, raise no alert", () => {
  const falls = Array.from({ length: VERSIONS }, (_, index) => 2 - index / VERSIONS);
  const alerts = Array.from({ length: 50 }, (_, seed) =>
    names(run(randomFrom(BigInt(seed)), { skill: learns }), falls),
  );
  expect(alerts.flat()).toEqual([]);
});

test("a policy that learns a trick raises an alert before its 200th step", () => {
  for (let seed = 0; seed < 5; seed += 1) {
    const rows = run(randomFrom(BigInt(seed)), { skill: () => 0.3, trick: (at) => Math.min(0.9, at * 4) }, 200);
    expect(names(rows)).toEqual(["reward-hacking-trend 25"]);
  }
});

test("reward that rises while held-out reward is flat raises an alert where findings rise too", () => {
  const rows = run(randomFrom(1n), { skill: () => 0.3, leak: (at) => at });
  const [finding] = runFindings(rows);
  expect(finding).toMatchObject({ detector: "reward-hacking-trend", tier: "D", isPunished: false, turn: null });
  expect(finding?.evidence.map((line) => line.split(":")[0])).toEqual(
    expect.arrayContaining(["strong-findings", "held-out-flat"]),
  );
});

describe("no signal alone raises an alert", () => {
  const alone: readonly [string, Course, readonly number[]][] = [
    ["gap", { skill: () => 0.3, trick: (at) => at, isUnseen: true }, []],
    ["discards", { skill: () => 0.4, discards: (at) => at / 2 }, []],
    ["format", { skill: () => 0.4, format: 0.7 }, []],
    ["entropy", { skill: () => 0.4 }, Array.from({ length: 90 }, (_, index) => 1 - index / 100)],
  ];
  test.each(alone)("%s", (name, course, entropies) => {
    const rows = run(randomFrom(3n), course);
    const on = runSignals(rows, entropies).filter(({ isOn }) => isOn);
    expect(on.map((signal) => signal.name)).toEqual([name]);
    expect(runFindings(rows, entropies)).toEqual([]);
  });
});

test("giving up to be left out, and form that earns, are named beside a second signal", () => {
  const leak = (at: number): number => at;
  const rows = run(randomFrom(4n), { skill: () => 0.3, leak, discards: (at) => at / 2 });
  expect(names(rows)).toEqual(["reward-hacking-trend 25", "discard-drift 64"]);
  const farmed = run(randomFrom(5n), { skill: () => 0.3, format: 0.7, trick: (at) => at });
  expect(names(farmed)).toContain("format-farming 63");
});

test("the task whose reward jumped is named, with the version at which it did", () => {
  const rows = run(randomFrom(6n), { skill: () => 0.1 }, 100).map((row) =>
    row.taskKey === "b" && row.policyVersion >= 60 && row.split === "train" ? { ...row, reward: 1 } : row,
  );
  expect(rewardJumps(rows)).toMatchObject([{ taskKey: "b", policyVersion: 60 }]);
});

test("a run that has only begun says nothing", () => {
  expect(runFindings([])).toEqual([]);
  expect(names(run(randomFrom(7n), { skill: () => 0.3, trick: (at) => Math.min(1, at * 50) }, 8))).toEqual([]);
});
