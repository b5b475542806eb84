/**
 * Runs one episode: one policy, one task, at most one acting sandbox, one trajectory.
 *
 * This is the only place where an error becomes data. Each call returns exactly one record, so a bad episode can never
 * stop its siblings or vanish from the books. Whatever happens, the sandbox is given back before the record is built.
 */
import type { Action, State, Tool } from "../core/environment.ts";
import type { EpisodePlan, EpisodeRunner } from "../core/episode.ts";
import { Failure, type FailureCode, toFailure } from "../core/errors.ts";
import type { Outcome, StopReason } from "../core/outcome.ts";
import type { Policy } from "../core/policy.ts";
import { type Runtime, withDeadline } from "../core/runtime.ts";
import type { Isolation } from "../core/sandbox.ts";
import type { Script } from "../core/task.ts";
import type { Phase, TrajectoryRecord } from "../core/trajectory.ts";
import { type ConcludeOptions, concluded, type Ended, isOraclePassed, oraclePlan } from "./conclude.ts";
import { EpisodeEnvironment } from "./environment.ts";
import { createGrader, type Grader, type GraderOptions } from "./grade.ts";
import { endedOutcome, gradedOutcome } from "./outcome.ts";
import { buildRecord, type RecordInput, recordContext } from "./record.ts";
import { rewardJumps } from "./reward-jumps.ts";

/** How long work that was told to stop may take to do so before the episode ends without it. */
const STOP_GRACE_MS = 5_000;

export interface EpisodeRunnerOptions extends GraderOptions, Omit<ConcludeOptions, "oraclePasses"> {
  readonly tools: readonly Tool[];
  /** Told before every instruction, with the limits; null shows the instruction alone. */
  readonly systemText: string | null;
  /** Weakest isolation the agent may run in; default `namespace`. */
  readonly isolationMin?: Isolation;
  /** `turns` keeps the sandbox's own layer after each turn, for a later fork; default `none`. */
  readonly snapshots?: "none" | "turns";
  /** Of one model call, what is charged to the agent at most; default 120,000. */
  readonly endpointObjectiveMs?: number;
  /** Makes a policy of a task's oracle, to be asked where a verifier fails; absent: it is never asked. */
  readonly oraclePolicy?: (script: Script) => Policy;
  /** Version of this program, and its commit where known. */
  readonly code: { readonly sandlot: string; readonly commit: string | null };
}

/** One runner serves any number of episodes at once; they share verdicts of equal identity. */
export function createEpisodeRunner(options: EpisodeRunnerOptions): EpisodeRunner {
  const grader = createGrader(options);
  const attempt = attempts(options, grader);
  const parts = { ...options, grader, jumps: rewardJumps(), ...oracleOf(options, attempt) };
  return async (plan, cancel) => concluded(await attempt(plan, cancel), parts, cancel);
}

type Attempt = (plan: EpisodePlan, cancel: AbortSignal) => Promise<Ended>;

/** Runs a plan to its end; what follows from the record as a whole is `concluded`'s. */
function attempts(options: EpisodeRunnerOptions, grader: Grader): Attempt {
  const context = recordContext(options.code, options.tools, options.systemText);
  return async (plan, cancel) => {
    const { runtime } = options;
    const startedAt = runtime.now();
    const versionFirst = plan.policy.version;
    const deadline = new AbortController();
    const environment = new EpisodeEnvironment({
      task: plan.task,
      pool: options.pool,
      grader,
      tools: options.tools,
      systemText: options.systemText,
      runtime,
      attemptId: `${plan.episodeId}-${plan.attempt}`,
      fence: plan.fence,
      gradingSeed: plan.gradingSeed,
      mayReuseVerdict: plan.mayReuseVerdict,
      extraFiles: plan.extraFiles ?? [],
      isolationMin: options.isolationMin ?? "namespace",
      snapshots: options.snapshots ?? "none",
      ...(options.endpointObjectiveMs === undefined ? {} : { endpointObjectiveMs: options.endpointObjectiveMs }),
      signal: AbortSignal.any([cancel, deadline.signal]),
    });
    const disarm = runtime.timer(plan.task.limits.episodeMs, () => deadline.abort(overdue(plan, environment.phase)));
    const outcome = await endOf(plan, environment, runtime, { cancel, deadline: deadline.signal });
    disarm();
    await environment.close();
    const made = record({ plan, context, environment, outcome, startedAt, versionFirst });
    return { plan, record: made, artifacts: environment.artifacts, verdict: environment.verdict };
  };
}

/** Whether a task's oracle passes on this machine, found out once for each task. */
function oracleOf(
  { oraclePolicy, runtime }: EpisodeRunnerOptions,
  attempt: Attempt,
): Pick<ConcludeOptions, "oraclePasses"> {
  if (oraclePolicy === undefined) return {};
  const known = new Map<string, Promise<boolean>>();
  return {
    oraclePasses: (task, signal) => {
      const asked =
        known.get(task.hash) ??
        attempt(oraclePlan(task, oraclePolicy, runtime.id()), signal).then((ended) =>
          isOraclePassed(task, ended.record.document),
        );
      known.set(task.hash, asked);
      return asked;
    },
  };
}

interface Ends {
  readonly cancel: AbortSignal;
  readonly deadline: AbortSignal;
}

async function endOf(
  plan: EpisodePlan,
  environment: EpisodeEnvironment,
  runtime: Runtime,
  ends: Ends,
): Promise<Outcome> {
  const signal = AbortSignal.any([ends.cancel, ends.deadline]);
  try {
    return await untilAborted(play(plan, environment, runtime, signal), signal, runtime);
  } catch (error) {
    // A verdict that was written before the deadline passed is kept.
    if (environment.verdict !== null && environment.stopReason !== null && !ends.cancel.aborted) {
      return gradedOutcome(environment.stopReason, environment.verdict, plan.task, environment.milestones);
    }
    const cause = ends.deadline.aborted && !ends.cancel.aborted ? ends.deadline.reason : error;
    return endedOutcome(cause, environment.turnsTaken, ends.cancel);
  }
}

/** The closed loop: reset, then act and execute until done, then verify. */
async function play(
  plan: EpisodePlan,
  environment: EpisodeEnvironment,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<Outcome> {
  let state = await environment.reset({});
  while (!state.done) {
    const action = await act(plan, environment, state, runtime, signal);
    if (action === null) break;
    state = environment.next(await environment.execute(action));
  }
  const verdict = await environment.verify();
  // A policy that could not act within its limits has set the reason; `execute` has set it otherwise.
  return gradedOutcome(environment.stopReason ?? "submitted", verdict, plan.task, environment.milestones);
}

/** The policy's next action; null when it reached a limit of its own instead, which the environment then knows. */
async function act(
  plan: EpisodePlan,
  environment: EpisodeEnvironment,
  state: State,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<Action | null> {
  const deadline = environment.actDeadline();
  let partial: string | null = null;
  let isLate = false;
  const late = (): Error => {
    isLate = true;
    return new Failure(
      "endpoint_unavailable",
      `The policy had not answered after ${Math.round(deadline.ms)} ms, all that was left.`,
    );
  };
  try {
    return await withDeadline(runtime, deadline.ms, late, (over) =>
      plan.policy.act(state, {
        episodeId: plan.episodeId,
        seed: plan.samplingSeed,
        signal: AbortSignal.any([signal, over]),
        onPartial: (raw) => {
          partial = raw;
        },
      }),
    );
  } catch (error) {
    const failure = toFailure(error);
    if (!signal.aborted && isLate && deadline.fault === "agent") return stopped(environment, "time_limit", partial);
    if (failure.code === "policy_context_exceeded") return stopped(environment, "context_limit", partial);
    environment.logPartial(partial);
    throw isLate && !signal.aborted ? late() : failure;
  }
}

function stopped(environment: EpisodeEnvironment, reason: StopReason, partial: string | null): null {
  environment.stop(reason, partial);
  return null;
}

/** Settles with `work`; once the signal aborts, `work` has a short grace to end by itself, so its log is whole. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, runtime: Runtime): Promise<T> {
  const ended = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const start = (): void => {
      const giveUp = (): void => reject(new Failure("cancelled", "The episode was stopped.", { cause: signal.reason }));
      const cancel = runtime.timer(STOP_GRACE_MS, giveUp);
      ended.signal.addEventListener("abort", cancel, { once: true });
    };
    if (signal.aborted) start();
    else signal.addEventListener("abort", start, { once: true, signal: ended.signal });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    // A reason of its own spares the error that would be made in its place, with its stack.
    ended.abort("ended");
  }
}

const OVERDUE_CODES: Partial<Record<Phase, FailureCode>> = {
  model: "endpoint_unavailable",
  freeze: "artifact_lost",
  verify: "verifier_timeout",
};

function overdue(plan: EpisodePlan, phase: Phase): Failure {
  const { episodeMs } = plan.task.limits;
  const message = `The episode of ${plan.task.key} reached its deadline of ${episodeMs} ms (limits.episodeMs) in its ${phase} phase.`;
  return new Failure(OVERDUE_CODES[phase] ?? "sandbox_unavailable", message);
}

/** The record; should building it ever throw, the episode is still in the books, as our own failure without its turns. */
function record(parts: RecordInput): TrajectoryRecord {
  try {
    return buildRecord(parts);
  } catch (error) {
    const failure = toFailure(error);
    const message = `The record could not be built: ${failure.message}`;
    const outcome: Outcome = { kind: "failed", cause: "infra_during", failure: "unexpected", message };
    parts.environment.log.length = 0;
    return buildRecord({ ...parts, outcome });
  }
}
