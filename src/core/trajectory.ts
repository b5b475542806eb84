/**
 * The record an episode leaves. Names here are the wire, disk and code names. Absent is `null`, never 0. Bodies are
 * named by SHA-256 and travel beside the document; token ids and log-probabilities travel in a segment of their own,
 * so that reading a trajectory never loads them. What was sampled is kept exactly as sampled.
 */

import type { Finding } from "./finding.ts";
import type { JudgeResult } from "./judge.ts";
import type { MilestoneReading } from "./milestone.ts";
import type { Outcome } from "./outcome.ts";
import type { PolicyDescription } from "./policy.ts";
import type { SandboxInfo, SandboxStats } from "./sandbox.ts";
import type { GeneratorReference } from "./task.ts";
import type { Measure, RefusedArtifact, TestResult } from "./verifier.ts";

export const TRAJECTORY_SCHEMA_VERSION = "1.1";

/** SHA-256 in hex of an uncompressed body. */
export type BodyHash = string;

/** One message. `sampled` says the policy produced it; role alone cannot tell. */
export interface MessageNode {
  readonly hash: string;
  readonly parent: string | null;
  readonly role: "system" | "user" | "policy" | "tool";
  readonly sampled: boolean;
  readonly body: BodyHash;
}

export interface ToolCallRecord {
  readonly id: string;
  readonly name: string;
  readonly argumentsRaw: string;
  readonly arguments: unknown;
  readonly parseError: string | null;
  readonly observation: {
    /** What the policy saw. */
    readonly contentBlob: BodyHash;
    /** What really came, up to the sandbox's cap. */
    readonly rawBlob: BodyHash;
    readonly bytes: number;
    readonly truncatedBytes: number;
  };
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly isInvalid: boolean;
  readonly durationMs: number;
}

export interface TurnRecord {
  /** From 1. */
  readonly index: number;
  readonly actionNode: string;
  readonly observationNodes: readonly string[];
  readonly textBlob: BodyHash;
  /** What the endpoint answered, byte for byte; null without an endpoint. */
  readonly responseBlob: BodyHash | null;
  readonly toolCalls: readonly ToolCallRecord[];
  readonly policyVersion: number;
  readonly sampledTokens: number;
  readonly modelMs: number;
  readonly toolMs: number;
  /** The sandbox's own layer after this turn, as a zstd tar in the OCI layer format; null unless the run keeps them. */
  readonly layerBlob: BodyHash | null;
  /** Null for a task without milestones. */
  readonly milestones: MilestoneReading | null;
  readonly budgetLeft: { readonly turns: number; readonly tokens: number; readonly agentMs: number };
}

/** Columns of equal length, one row per token of the trained sequence. */
export interface TokenSegment {
  readonly ids: Int32Array;
  /** 1 = sampled by the policy and trainable. */
  readonly mask: Uint8Array;
  /** Nats; 0 where mask is 0. */
  readonly logprobs: Float32Array;
  readonly policyVersions: Int32Array;
  /** Turn of each token, from 1; 0 before the first action. */
  readonly turns: Int32Array;
  readonly temperature: number;
}

/** Columns of equal length, one row per sample; taken each second, of a long episode more coarsely. */
export interface ResourceCurve {
  /** Milliseconds since the sandbox was claimed. */
  readonly atMs: readonly number[];
  /** Processor time used so far. */
  readonly cpuMs: readonly (number | null)[];
  readonly throttledMs: readonly (number | null)[];
  readonly memoryBytes: readonly (number | null)[];
  readonly diskBytes: readonly (number | null)[];
  readonly files: readonly (number | null)[];
  readonly processes: readonly (number | null)[];
}

/** A file that crossed from the agent's sandbox. */
export interface ArtifactRecord {
  readonly path: string;
  readonly hash: BodyHash;
  readonly bytes: number;
  readonly mode: number;
}

export type Phase = "queue" | "boot" | "setup" | "model" | "tool" | "freeze" | "verify" | "commit";

export interface Trajectory {
  readonly schemaVersion: typeof TRAJECTORY_SCHEMA_VERSION;
  readonly id: string;
  readonly runId: string;
  readonly groupId: string;
  readonly member: number;
  /** From 1. */
  readonly attempt: number;
  readonly fence: number;
  readonly startedAt: number;
  readonly task: {
    readonly key: string;
    readonly hash: string;
    readonly agentHash: string;
    readonly verifierHash: string;
    readonly taskSet: string;
    readonly family: string;
    readonly split: string;
    readonly generator: GeneratorReference | null;
  };
  readonly agent: {
    readonly name: string;
    readonly version: string;
    readonly toolsHash: string;
    readonly promptHash: string;
  };
  readonly policy: PolicyDescription & { readonly versionFirst: number; readonly versionLast: number };
  /** 64-bit integers as decimal strings. */
  readonly seeds: { readonly task: string; readonly sampling: string; readonly verifier: string };
  readonly code: { readonly sandlot: string; readonly commit: string | null; readonly recipeHash: string };
  /** As granted; null when no acting sandbox was claimed. */
  readonly sandbox: Pick<SandboxInfo, "provider" | "isolation" | "image" | "imageHash" | "limits" | "network"> | null;
  readonly turns: readonly TurnRecord[];
  readonly nodes: readonly MessageNode[];
  readonly branches: readonly { readonly leaf: string; readonly reason: "main"; readonly trainable: boolean }[];
  readonly tokens: { readonly count: number; readonly sampledCount: number } | null;
  readonly outcome: Outcome;
  readonly tests: readonly TestResult[];
  readonly verification: {
    readonly identity: string;
    /** T, before vetoes, milestones, the judge and findings. */
    readonly total: number;
    readonly isVetoed: boolean;
    readonly extraTests: readonly string[];
    readonly measures: readonly Measure[];
    readonly judge: JudgeResult | null;
    readonly visible: { readonly original: readonly TestResult[]; readonly asLeft: readonly TestResult[] } | null;
    readonly imageHash: string;
    readonly artifactsHash: string;
    readonly sandboxIds: readonly string[];
    readonly durationMs: number;
    readonly isReused: boolean;
  } | null;
  readonly artifacts: readonly ArtifactRecord[];
  readonly answerBlob: BodyHash | null;
  /** What collecting met besides the artifacts, so that the graded state can be built again exactly; null when nothing was collected. */
  readonly collected: {
    /** Declared and required paths the agent did not make. */
    readonly missing: readonly string[];
    /** What the agent left of the visible tests. */
    readonly visible: readonly ArtifactRecord[];
    /** What was there and not taken. */
    readonly refused: readonly RefusedArtifact[];
  } | null;
  /** Paths that the platform placed for a script besides the task's own files; empty for a policy. */
  readonly placed: readonly string[];
  /** An `Evidence` as JSON; null when there was no acting sandbox. */
  readonly evidenceBlob: BodyHash | null;
  /** Milliseconds by phase, from the start of the attempt. */
  readonly timing: Readonly<Partial<Record<Phase, number>>>;
  /** Of the acting sandbox at its end; `curveBlob` names its ResourceCurve as JSON, null for an episode of a moment. */
  readonly resource: (SandboxStats & { readonly curveBlob: BodyHash | null }) | null;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Everything an episode hands to the store. */
export interface TrajectoryRecord {
  readonly document: Trajectory;
  readonly bodies: ReadonlyMap<BodyHash, Uint8Array>;
  readonly segment: TokenSegment | null;
  /** What the detectors said; kept in a table of its own. */
  readonly findings: readonly Finding[];
}
