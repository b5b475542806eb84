/** Builds records for store tests: small, complete, and consistent with the lease they answer. */
import { createHash } from "node:crypto";
import type { GroupPlan, Lease } from "../../src/core/store.ts";
import type { TokenSegment, Trajectory, TrajectoryRecord, TurnRecord } from "../../src/core/trajectory.ts";

export interface RecordOptions {
  readonly lease: Pick<Lease, "runId" | "episodeNo" | "groupNo" | "member" | "attempt" | "fence">;
  readonly outcome?: Trajectory["outcome"];
  /** One turn for each; the text the policy wrote. */
  readonly texts?: readonly string[];
  readonly segment?: TokenSegment | null;
}

export const GRADED: Trajectory["outcome"] = {
  kind: "graded",
  cause: "completed",
  stopReason: "submitted",
  reward: 0.75,
  scores: [],
  isTruncated: false,
};

export const FAILED: Trajectory["outcome"] = {
  kind: "failed",
  cause: "infra_during",
  failure: "sandbox_lost",
  message: "The sandbox went away.",
};

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A record that passes every check, with its bodies; equal options give equal records. */
export function exampleRecord({
  lease,
  outcome = GRADED,
  texts = ["42"],
  segment = null,
}: RecordOptions): TrajectoryRecord {
  const bodies = new Map<string, Uint8Array>();
  const keep = (text: string): string => {
    const bytes = Buffer.from(text);
    const hash = hashOf(bytes);
    bodies.set(hash, bytes);
    return hash;
  };
  const prompt = keep("Write a Python expression for the sum of a list.");
  const turns = texts.map((text, position) => turn(position + 1, keep(text), `action-${position + 1}`));
  const nodes = [
    { hash: "prompt", parent: null, role: "user" as const, sampled: false, body: prompt },
    ...turns.map(({ actionNode, textBlob }, position) => ({
      hash: actionNode,
      parent: position === 0 ? "prompt" : `action-${position}`,
      role: "policy" as const,
      sampled: true,
      body: textBlob,
    })),
  ];
  return {
    document: { ...documentOf(lease), turns, nodes, outcome, tokens: tokensOf(segment) },
    bodies,
    segment,
    findings: [],
  };
}

function tokensOf(segment: TokenSegment | null): Trajectory["tokens"] {
  if (segment === null) return null;
  return { count: segment.ids.length, sampledCount: segment.mask.reduce((sum, bit) => sum + bit, 0) };
}

function turn(index: number, textBlob: string, actionNode: string): TurnRecord {
  return {
    index,
    actionNode,
    observationNodes: [],
    textBlob,
    responseBlob: null,
    toolCalls: [],
    policyVersion: 3,
    sampledTokens: 2,
    modelMs: 12,
    toolMs: 0,
    layerBlob: null,
    milestones: null,
    budgetLeft: { turns: 4, tokens: 100, agentMs: 60_000 },
  };
}

function documentOf(lease: RecordOptions["lease"]): Trajectory {
  return {
    schemaVersion: "1.1",
    id: `${lease.runId}-${lease.episodeNo}`,
    runId: lease.runId,
    groupId: `${lease.runId}-g${lease.groupNo}`,
    member: lease.member,
    attempt: lease.attempt,
    fence: lease.fence,
    startedAt: 1_700_000_000_000,
    task: {
      key: "first-light/sum",
      hash: "a".repeat(64),
      agentHash: "b".repeat(64),
      verifierHash: "c".repeat(64),
      taskSet: "first-light",
      family: "sum",
      split: "train",
      generator: null,
    },
    agent: { name: "sandlot", version: "0.1.0", toolsHash: "d".repeat(64), promptHash: "e".repeat(64) },
    policy: {
      name: "tiny",
      backend: "embedded",
      sampling: { temperature: 1, topP: 1, topK: 0, tokensMax: 64, logprobs: "raw" },
      versionFirst: 3,
      versionLast: 3,
    },
    seeds: { task: "1", sampling: "18446744073709551615", verifier: "3" },
    code: { sandlot: "0.1.0", commit: null, recipeHash: "f".repeat(64) },
    sandbox: null,
    turns: [],
    nodes: [],
    branches: [{ leaf: "prompt", reason: "main", trainable: true }],
    tokens: null,
    outcome: GRADED,
    tests: [],
    verification: null,
    artifacts: [],
    answerBlob: null,
    collected: null,
    placed: [],
    evidenceBlob: null,
    timing: { queue: 1, model: 12, verify: 20 },
    resource: null,
    extra: {},
  };
}

/** Columns of one episode with one turn: `prompt` tokens shown, then one sampled token per log-probability. */
export function exampleSegment(prompt: number, logprobs: readonly number[]): TokenSegment {
  const count = prompt + logprobs.length;
  const sampled = (token: number): boolean => token >= prompt;
  const column = Array.from({ length: count }, (_, token) => token);
  return {
    ids: Int32Array.from(column, (token) => 100 + token),
    mask: Uint8Array.from(column, (token) => (sampled(token) ? 1 : 0)),
    logprobs: Float32Array.from(column, (token) => (sampled(token) ? (logprobs[token - prompt] ?? 0) : 0)),
    policyVersions: Int32Array.from(column, (token) => (sampled(token) ? 3 : 0)),
    turns: Int32Array.from(column, (token) => (sampled(token) ? 1 : 0)),
    temperature: 1,
  };
}

/** Groups of `members` episodes, numbered on from `first`. */
export function examplePlan(groups: number, members: number, first = 0): GroupPlan[] {
  return Array.from({ length: groups }, (_group, position) => {
    const groupNo = first + position;
    return {
      groupNo,
      phase: "train" as const,
      step: 1,
      taskKey: "first-light/sum",
      taskHash: "a".repeat(64),
      taskRef: `first-light:${groupNo}`,
      split: "train",
      gradingSeed: String(groupNo),
      members: Array.from({ length: members }, (_member, member) => ({
        episodeNo: groupNo * members + member,
        member,
        samplingSeed: String(groupNo * members + member),
      })),
    };
  });
}
