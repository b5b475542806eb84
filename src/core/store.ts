/**
 * The store holds the truth: which episodes were planned, who may run each, what each left, what the trainer consumed.
 * Each call is one transaction, durable before it answers; bytes are written before the row that names them.
 * Episodes move ready → leased → done | failed | cancelled, and leased → ready on retry; a fence only grows.
 */
import type { FailureCode } from "./errors.ts";
import type { Finding, FindingRow, FindingTier, ReviewState } from "./finding.ts";
import type { Outcome } from "./outcome.ts";
import type { TokenSegment, Trajectory, TrajectoryRecord } from "./trajectory.ts";
import type { Verdict, VerdictMemory } from "./verifier.ts";

export type RunKind = "train" | "evaluate";
export type RunState = "active" | "halted" | "stopped" | "done" | "cancelled";

export interface RunRow {
  readonly runId: string;
  readonly kind: RunKind;
  readonly state: RunState;
  /** Why it is halted or stopped; null otherwise. */
  readonly reason: string | null;
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly recipeHash: string;
  /** The resolved configuration, as JSON text. */
  readonly config: string;
  /** Optimizer steps committed. */
  readonly step: number;
  readonly policyVersion: number;
  /** What the run printed at its end, as JSON text; null until then. */
  readonly summary: string | null;
  /** The live owner, when there is one. */
  readonly owner: { readonly pid: number; readonly since: number } | null;
}

export interface GroupPlan {
  readonly groupNo: number;
  readonly phase: "train" | "eval";
  /** Step this group is gathered for; for `eval`, the step after which it is evaluated. */
  readonly step: number;
  readonly taskKey: string;
  readonly taskHash: string;
  /** What rebuilds the task, opaque to the store. */
  readonly taskRef: string;
  readonly split: string;
  readonly gradingSeed: string;
  /** One episode per member, by number from 0. */
  readonly members: readonly { readonly episodeNo: number; readonly member: number; readonly samplingSeed: string }[];
}

/** The right of one worker to run one attempt. */
export interface Lease {
  readonly runId: string;
  readonly episodeNo: number;
  readonly groupNo: number;
  readonly member: number;
  readonly attempt: number;
  readonly fence: number;
  readonly phase: "train" | "eval";
  readonly step: number;
  readonly taskRef: string;
  readonly split: string;
  readonly samplingSeed: string;
  readonly gradingSeed: string;
  readonly readyAt: number;
}

export interface ClaimRequest {
  readonly runId: string;
  readonly workerId: string;
  readonly episodesMax: number;
  readonly leaseMs: number;
  /** Only episodes of groups up to this one; absent: of all. */
  readonly groupTo?: number;
}

export interface CommitRequest {
  readonly lease: Pick<Lease, "runId" | "episodeNo" | "attempt" | "fence">;
  readonly record: TrajectoryRecord;
}

export interface ReleaseRequest {
  readonly lease: Pick<Lease, "runId" | "episodeNo" | "attempt" | "fence">;
  readonly failure: FailureCode;
  readonly message: string;
  /** Ready again after this many milliseconds; null closes the episode as failed with its partial record. */
  readonly retryInMs: number | null;
  readonly record: TrajectoryRecord | null;
}

/** The row of one accepted trajectory, for lists, groups and reports; never its bytes. */
export interface TrajectoryRow {
  readonly runId: string;
  readonly episodeNo: number;
  readonly groupNo: number;
  readonly member: number;
  readonly phase: "train" | "eval";
  readonly step: number;
  readonly split: string;
  readonly taskKey: string;
  /** What rebuilds the task, opaque to the store. */
  readonly taskRef: string;
  readonly outcome: Outcome["kind"];
  readonly cause: string;
  readonly stopReason: string | null;
  readonly failure: FailureCode | null;
  /** Null unless graded. */
  readonly reward: number | null;
  /** What training takes in its place since a regrade was adopted; null when none was. */
  readonly rewardAdopted: number | null;
  readonly isVerdictReused: boolean;
  readonly policyVersionFirst: number;
  readonly policyVersionLast: number;
  readonly attempts: number;
  readonly turns: number;
  readonly sampledTokens: number;
  readonly durationMs: number;
  readonly finishedAt: number;
}

export interface EpisodeFilter {
  readonly phase?: "train" | "eval";
  readonly step?: number;
  readonly groupFrom?: number;
  /** Inclusive. */
  readonly groupTo?: number;
  readonly outcome?: Outcome["kind"];
  readonly limit?: number;
}

export interface StepCommit {
  readonly runId: string;
  readonly step: number;
  readonly batchId: string;
  readonly groupNos: readonly number[];
  readonly policyVersion: number;
  readonly weightsSha256: string;
}

export interface MetricPoint {
  readonly id: string;
  readonly step: number;
  /** NaN and infinities are kept as such. */
  readonly value: number;
}

export interface AttemptRow {
  readonly episodeNo: number;
  readonly attempt: number;
  readonly fence: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly failure: FailureCode | null;
  readonly message: string | null;
}

/** Which findings are asked for; an absent field leaves none out. */
export interface FindingFilter {
  readonly runId?: string;
  readonly episodeNo?: number;
  readonly groupFrom?: number;
  /** Inclusive. */
  readonly groupTo?: number;
  readonly tier?: FindingTier;
  readonly review?: ReviewState;
  readonly limit?: number;
}

/** One decision of a person on a finding. Decisions are added and never changed; the last one holds. */
export interface Review {
  readonly decision: Exclude<ReviewState, "open">;
  readonly author: string;
  readonly reason: string;
}

/** A decision with its time, in UTC milliseconds. */
export interface ReviewRow extends Review {
  readonly decidedAt: number;
}

/** A verdict given later on a stored state, beside the one the episode ended with. */
export interface Regrade {
  readonly episodeNo: number;
  /** Of the verifier that gave it. */
  readonly verifierHash: string;
  /** What an episode with this verdict would have earned. Null when it could not be graded. */
  readonly reward: number | null;
  /** Null when it could not be graded; then `failure` says why. */
  readonly verdict: Verdict | null;
  readonly failure: { readonly code: FailureCode; readonly message: string } | null;
}

/** A regrade with its place in the books. */
export interface RegradeRow extends Regrade {
  readonly runId: string;
  /** Names the regrade it was part of. */
  readonly regradeId: string;
  readonly gradedAt: number;
  readonly isAdopted: boolean;
}

/** A task whose episodes do not train, and why: its verdicts were not repeatable, or a person found it defective. */
export interface QuarantinedTask {
  readonly taskKey: string;
  readonly reason: "verdict_unstable" | "task-defect";
  readonly runId: string;
  readonly episodeNo: number;
}

export interface Store extends VerdictMemory {
  createRun(run: Omit<RunRow, "updatedAt" | "summary" | "owner" | "reason" | "step" | "policyVersion">): Promise<void>;
  updateRun(
    runId: string,
    change: Partial<Pick<RunRow, "state" | "reason" | "summary" | "policyVersion">>,
  ): Promise<void>;
  run(runId: string): Promise<RunRow | null>;
  /** Newest first. */
  runs(): Promise<readonly RunRow[]>;
  /** Takes the run for this process. Throws `run_live` naming the live owner (pid, since). Freed by `close` or death. */
  acquireRun(runId: string): Promise<void>;

  /** Repeating a plan does nothing: (run, group, member) is unique. */
  plan(runId: string, groups: readonly GroupPlan[]): Promise<void>;
  /** Ready episodes by number, oldest first; each leased with fence + 1 and a new attempt row. */
  claim(request: ClaimRequest): Promise<readonly Lease[]>;
  /** `superseded` when the fence has moved on or the episode is closed; then nothing is stored. Repeating gives the first answer. */
  commit(request: CommitRequest): Promise<"accepted" | "superseded">;
  release(request: ReleaseRequest): Promise<"requeued" | "closed" | "superseded">;
  /** Every ready or leased episode of the run, or of groups >= `groupFrom`, becomes cancelled. Returns how many. */
  cancel(runId: string, options?: { readonly groupFrom?: number }): Promise<number>;
  /** Leases of workers that are gone become ready again, their attempts closed as lost. Returns how many. */
  reap(runId: string): Promise<number>;
  /** How many episodes of the run, or of its groups up to `groupTo`, are in each state. */
  counts(
    runId: string,
    options?: { readonly groupTo?: number },
  ): Promise<Readonly<Record<"ready" | "leased" | "done" | "failed" | "cancelled", number>>>;

  episodes(runId: string, filter?: EpisodeFilter): Promise<readonly TrajectoryRow[]>;
  attempts(runId: string, episodeNo: number): Promise<readonly AttemptRow[]>;
  /** The stored document with a reader of its bodies; null when there is none. Throws `object_missing` or `record_invalid`. */
  trajectory(runId: string, episodeNo: number): Promise<StoredTrajectory | null>;

  /** Adds what is not there yet, by content: detecting twice adds nothing. Returns how many were new. */
  addFindings(runId: string, episodeNo: number, findings: readonly Finding[]): Promise<number>;
  /** By run, episode and tier. */
  findings(filter?: FindingFilter): Promise<readonly FindingRow[]>;
  /** Null when there is none of this id. Decisions oldest first. */
  finding(findingId: string): Promise<{ readonly row: FindingRow; readonly reviews: readonly ReviewRow[] } | null>;
  /** Throws `not_found`, and `request_invalid` for a decision without author or reason. */
  review(findingId: string, review: Review): Promise<void>;
  /** Those of `runId` for verdicts that were not repeatable; those of every run for a defect a person found. */
  quarantinedTasks(runId: string): Promise<readonly QuarantinedTask[]>;

  /** Verdicts beside the stored ones; nothing is overwritten. Repeating the same regrade id and episode does nothing. */
  addRegrades(runId: string, regradeId: string, regrades: readonly Regrade[]): Promise<void>;
  /** Oldest first. */
  regrades(runId: string, episodeNo?: number): Promise<readonly RegradeRow[]>;
  /** From now on training takes the rewards of this regrade. Returns how many episodes it has; throws `not_found` for none. */
  adoptRegrade(runId: string, regradeId: string): Promise<number>;

  /** A batch id is consumed once: repeating the same step does nothing, another step with the same batch or group throws `superseded`. */
  commitStep(step: StepCommit): Promise<void>;
  /** Marks steps after `step` as rolled back; their groups are free again. */
  rollBack(runId: string, step: number): Promise<void>;
  steps(runId: string): Promise<readonly StepCommit[]>;

  /** Upsert by (run, id, step). */
  addPoints(runId: string, points: readonly MetricPoint[]): Promise<void>;
  points(runId: string, ids?: readonly string[]): Promise<readonly MetricPoint[]>;

  /** Bytes on disk, by kind. */
  usage(): Promise<{ readonly databaseBytes: number; readonly objectBytes: number }>;
  close(): Promise<void>;
}

export interface StoredTrajectory {
  readonly document: Trajectory;
  body(hash: string): Promise<Uint8Array>;
  segment(): Promise<TokenSegment | null>;
}

/** Create-only bytes by key. */
export interface Objects {
  /** Fails with `superseded` if the key exists. Durable before it answers; an interrupted put leaves no readable object. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Throws `object_missing`. */
  get(key: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  /** Keys with this prefix, in key order. */
  list(prefix: string): Promise<readonly { readonly key: string; readonly bytes: number }[]>;
}
