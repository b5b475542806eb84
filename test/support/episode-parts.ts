/** What a test of the episode loop needs beside its own case: a task with small limits, a verifier by rule, a plan. */
import type { EpisodePlan } from "../../src/core/episode.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { Task } from "../../src/core/task.ts";
import type { Artifacts, GradeRequest, Verdict, VerdictMemory, Verifier } from "../../src/core/verifier.ts";

/** Solved when the file `/work/out` holds `hello`. */
export function greetTask(change: Partial<Task> = {}): Task {
  return {
    key: "test/greet",
    hash: "task-hash",
    agentHash: "agent-hash",
    verifierHash: "verifier-hash",
    family: "greet",
    description: "Greets.",
    instruction: "Write hello to /work/out.",
    image: "host",
    workdir: "/work",
    agentUser: "agent",
    envVars: {},
    network: { mode: "off" },
    resources: {
      cpus: 1,
      memoryBytes: 2 ** 28,
      diskBytes: 2 ** 26,
      filesMax: 1000,
      processesMax: 64,
      shmBytes: 2 ** 20,
    },
    limits: {
      turnsMax: 20,
      tokensMax: 10_000,
      agentMs: 60_000,
      commandMs: 10_000,
      gradeMs: 10_000,
      episodeMs: 120_000,
      outputBytesPerTurn: 65_536,
    },
    isDeadlineShown: true,
    files: [],
    setup: null,
    contract: { state: "declared", files: [{ path: "/work/out", required: true }], bytesMax: 10_000, entriesMax: 10 },
    verifier: {
      kind: "tests",

      tiers: [
        { name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden", runner: "unittest" },
      ],
      files: [],
      manifest: [],
    },
    threshold: 1,
    gradingSeed: "fresh",
    oracle: { name: "oracle", answer: null, files: [], commands: ["write /work/out hello"] },
    alternatives: [],
    wrong: [],
    generator: null,
    folder: null,
    ...change,
  };
}

/** A task whose only action is an answer: `42`. */
export function answerTask(change: Partial<Task> = {}): Task {
  return greetTask({
    key: "test/answer",
    instruction: "Say 42.",
    contract: { state: "answer", files: [], bytesMax: 1000, entriesMax: 1 },
    ...change,
  });
}

/** Grades by a rule over the artifacts, in this process; `grades` counts how often it really graded. */
export function ruleVerifier(rule: (artifacts: Artifacts, request: GradeRequest) => number | Promise<number>) {
  const verifier: Verifier & { grades: number } = {
    version: 1,
    grades: 0,
    async grade(request): Promise<Omit<Verdict, "identity" | "isReused">> {
      verifier.grades += 1;
      const total = await rule(request.artifacts, request);
      return {
        total,
        isVetoed: false,
        scores: [],
        tests: [],
        extraTests: [],
        measures: [],
        judge: null,
        visible: null,
        gradingSeed: String(request.gradingSeed),
        imageHash: "tiny",
        sandboxIds: [],
        durationMs: 0,
      };
    },
  };
  return verifier;
}

export const greets = (artifacts: Artifacts): number => {
  const out = artifacts.files.find((file) => file.path === "/work/out");
  return out !== undefined && Buffer.from(out.bytes).toString() === "hello" ? 1 : 0;
};

export function memory(): VerdictMemory {
  const known = new Map<string, Verdict>();
  return {
    find: (identity) => known.get(identity) ?? null,
    remember: (verdict) => {
      known.set(verdict.identity, verdict);
    },
    forget: (identity) => void known.delete(identity),
  };
}

export function planOf(task: Task, policy: Policy, change: Partial<EpisodePlan> = {}): EpisodePlan {
  return {
    runId: "run",
    groupId: "run-g0",
    episodeId: "run-0",
    member: 0,
    attempt: 1,
    fence: 1,
    taskSet: "test",
    split: "train",
    task,
    policy,
    samplingSeed: 7n,
    gradingSeed: 9n,
    recipeHash: "recipe",
    queuedMs: 0,
    mayReuseVerdict: true,
    ...change,
  };
}
