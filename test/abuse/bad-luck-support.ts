/**
 * Frame of the whole-loop cases of bad luck: hostile episodes run on the machinery of the product, beside honest
 * siblings that are in flight at the same time, and afterwards nothing of ours may be left.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type Machinery, openMachinery, SYSTEM_TEXT, verdictMemory } from "../../src/app-parts.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { Task } from "../../src/core/task.ts";
import type { TrajectoryRecord } from "../../src/core/trajectory.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { recipeSchema } from "../../src/run/recipe.ts";
import { readTaskFolder } from "../../src/task/read-folder.ts";
import { planOf } from "../support/episode-parts.ts";

const MIB = 2 ** 20;
const NEVER = new AbortController().signal;

export function machinery(): Machinery {
  return openMachinery(recipeSchema.parse({}).sandbox, availableParallelism(), verdictMemory(), SYSTEM_TEXT);
}

/** A function `f(x, y)` that gives their sum, graded on hidden inputs, with limits a hostile answer soon meets. */
export function sumTask(): Task {
  return {
    key: "test/sum",
    hash: "sum",
    agentHash: "sum",
    verifierHash: "sum",
    family: "test",
    description: "Adds.",
    instruction: "Write a function f(x, y) that gives their sum.",
    image: "host",
    workdir: "/app",
    agentUser: "agent",
    envVars: {},
    network: { mode: "off" },
    resources: {
      cpus: 1,
      memoryBytes: 96 * MIB,
      diskBytes: 8 * MIB,
      filesMax: 500,
      processesMax: 24,
      shmBytes: MIB,
    },
    limits: {
      turnsMax: 2,
      tokensMax: 1_000,
      agentMs: 20_000,
      commandMs: 10_000,
      gradeMs: 20_000,
      episodeMs: 120_000,
      outputBytesPerTurn: 10_000,
    },
    isDeadlineShown: true,
    files: [],
    setup: null,
    contract: { state: "answer", files: [], bytesMax: 0, entriesMax: 0 },
    verifier: {
      kind: "match",
      tiers: [{ name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden" }],
      subject: { language: "python", form: "function", parameters: ["x", "y"], entry: "f", callMs: 1_000 },
      cases: () => [
        { id: "unit/small", tier: "unit", args: [1, 2], expected: 3 },
        { id: "unit/large", tier: "unit", args: [40, -7], expected: 33 },
      ],
    },
    threshold: 1,
    gradingSeed: "fresh",
    oracle: { name: "oracle", answer: "def f(x, y):\n    return x + y\n", files: [], commands: [] },
    alternatives: [],
    wrong: [],
    generator: null,
    folder: null,
  };
}

/** A shipped folder task. */
export function repairTask(): Promise<Task> {
  return readTaskFolder(join(import.meta.dirname, "../../tasks/code-repair-python/repair-python-statistics"));
}

/** The same with little time, so that what hangs is through soon. */
function hurried(task: Task, gradeMsMax: number): Task {
  const { commandMs, gradeMs } = task.limits;
  const limits = { ...task.limits, commandMs: Math.min(2_000, commandMs), gradeMs: Math.min(gradeMsMax, gradeMs) };
  return { ...task, limits };
}

/** The oracle's commands and then these, as one policy. */
export function solvedThen(task: Task, commands: readonly string[]): Policy {
  return scriptPolicy({ ...task.oracle, commands: [...task.oracle.commands, ...commands] });
}

let episodes = 0;

export function episode({ runEpisode }: Machinery, task: Task, policy: Policy): Promise<TrajectoryRecord> {
  episodes += 1;
  const change = { episodeId: `bad-luck-${episodes}`, extraFiles: task.oracle.files, mayReuseVerdict: false };
  return runEpisode(planOf(task, policy, change), NEVER);
}

/** Runs the hostile episode while honest ones of the same task run: each of those must earn 1. Gives the hostile record. */
export async function besideHonest(
  at: Machinery,
  task: Task,
  hostile: Policy,
  gradeMsMax = 8_000,
): Promise<TrajectoryRecord> {
  let isOver = false;
  const attacked = episode(at, hurried(task, gradeMsMax), hostile).finally(() => {
    isOver = true;
  });
  let siblings = 0;
  do {
    const sibling = await episode(at, task, scriptPolicy(task.oracle));
    const failed = sibling.document.tests.filter((one) => one.status !== "passed");
    expect([sibling.document.outcome, failed]).toMatchObject([{ kind: "graded", cause: "completed", reward: 1 }, []]);
    siblings += 1;
  } while (!isOver && siblings < 50);
  return attacked;
}
