/**
 * Runs the ready episodes of a run, up to a given group, until none is left: claims leases within the permit, hands each
 * to the episode runner, and settles it in the store by its outcome. This is the only place that retries, and it reads
 * nothing of an outcome but its failure class.
 */
import type { EpisodePlan, EpisodeRunner } from "../core/episode.ts";
import { Failure, type FailureCode, failureClass } from "../core/errors.ts";
import type { FailedOutcome } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Lease, Store } from "../core/store.ts";
import type { TrajectoryRecord } from "../core/trajectory.ts";
import type { FailureBudget } from "./failure-budget.ts";

export interface SchedulerLimits {
  readonly episodesMax: number;
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
}

export interface SchedulerOptions {
  readonly runId: string;
  readonly store: Store;
  readonly runtime: Runtime;
  readonly runEpisode: EpisodeRunner;
  readonly limits: SchedulerLimits;
  readonly budget: FailureBudget;
  /**
   * Last group that is run now. A run that was killed may have left ready episodes of later steps, which only the
   * policy of their own step may answer.
   */
  readonly groupTo: number;
  /** What a lease runs: task, policy and the words for the record. */
  readonly resolve: (lease: Lease) => Pick<EpisodePlan, "task" | "policy" | "taskSet" | "recipeHash" | "extraFiles">;
  /** Called once for each episode that ended for good. */
  readonly onFinished: (lease: Lease, record: TrajectoryRecord) => void;
  /** Called for each attempt that failed; `retryInMs` is null when none follows. */
  readonly onFailed: (lease: Lease, failure: FailedOutcome, retryInMs: number | null) => void;
  /** First stop: claim no more, let running episodes finish. */
  readonly drain: AbortSignal;
  /** Second stop: running episodes are aborted and become ready again. */
  readonly abort: AbortSignal;
}

export type SchedulerEnd = "idle" | "drained";

const WORKER_ID = "worker-1";
const POLL_MS = 50;
/** Most that a record waits for others to be stored with it. */
const GATHER_MS = 100;

/**
 * Resolves `idle` when no episode up to `groupTo` is ready or leased, `drained` when stopped before.
 * Throws `run_halted` when the failure budget is spent, and our own mistakes as they are.
 */
export async function runReadyEpisodes(options: SchedulerOptions): Promise<SchedulerEnd> {
  const { store, runId, runtime, limits, groupTo, drain, abort } = options;
  const { leaseMs } = limits;
  const running = new Set<Promise<void>>();
  const ended = new AbortController();
  /** One for each retry that waits for its back-off: a long episode beside it must not hold it back. */
  const naps = new Set<Promise<void>>();
  const nap = (ms: number): void => {
    const over: Promise<void> = runtime
      .sleep(ms + POLL_MS, ended.signal)
      .catch(() => undefined)
      .finally(() => naps.delete(over));
    naps.add(over);
  };
  const gathered = gathering(runtime);
  let fatal: unknown = null;
  const stop = (): boolean => drain.aborted || abort.aborted || fatal !== null;
  try {
    for (;;) {
      const free = limits.episodesMax - running.size;
      if (!stop() && free > 0) {
        const leases = await store.claim({ runId, workerId: WORKER_ID, episodesMax: free, leaseMs, groupTo });
        for (const lease of leases) {
          const work = runLease(lease, options, nap, gathered).catch((error: unknown) => {
            fatal ??= error;
          });
          running.add(work);
          void work.finally(() => running.delete(work));
        }
      }
      if (running.size > 0) {
        await Promise.race([...running, ...naps]);
        continue;
      }
      if (fatal !== null) throw fatal;
      if (drain.aborted || abort.aborted) return "drained";
      const counts = await store.counts(runId, { groupTo });
      if (counts.ready === 0 && counts.leased === 0) return "idle";
      // Ready ones that may not start yet wait for their back-off.
      await runtime.sleep(POLL_MS);
    }
  } finally {
    ended.abort();
    await Promise.allSettled(running);
  }
}

interface Gathering {
  /** As `work`; what it gives is held until other work has ended too. */
  readonly withOthers: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Holds what has ended until others have too, so that one commit, one pack and one claim serve many: each costs more
 * than the record of a short episode. Once nothing is at work any more nobody is held, for there is nothing to wait for.
 */
function gathering(runtime: Runtime): Gathering {
  let working = 0;
  let held: (() => void)[] = [];
  let disarm: (() => void) | null = null;
  const letGo = (): void => {
    disarm?.();
    disarm = null;
    const all = held;
    held = [];
    for (const go of all) go();
  };
  const together = (): Promise<void> =>
    new Promise((resolve) => {
      held.push(resolve);
      if (working === 0) letGo();
      else disarm ??= runtime.timer(GATHER_MS, letGo);
    });
  return {
    async withOthers(work) {
      working += 1;
      const result = await work.finally(() => {
        working -= 1;
      });
      await together();
      return result;
    },
  };
}

/** `onRetry` is told how many milliseconds from now the episode may run again. */
async function runLease(
  lease: Lease,
  options: SchedulerOptions,
  onRetry: (ms: number) => void,
  gathered: Gathering,
): Promise<void> {
  const { runtime, runId } = options;
  const plan: EpisodePlan = {
    ...options.resolve(lease),
    runId,
    groupId: `${runId}-g${lease.groupNo}`,
    episodeId: `${runId}-${lease.episodeNo}`,
    member: lease.member,
    attempt: lease.attempt,
    fence: lease.fence,
    split: lease.split,
    samplingSeed: BigInt(lease.samplingSeed),
    gradingSeed: BigInt(lease.gradingSeed),
    queuedMs: Math.max(0, runtime.now() - lease.readyAt),
    mayReuseVerdict: true,
  };
  const record = await gathered.withOthers(options.runEpisode(plan, options.abort));
  const retryInMs = await settle(lease, record, options);
  if (retryInMs !== null) onRetry(retryInMs);
}

/** Writes how the attempt ended. Gives the milliseconds until the next one; null when there is none in this session. */
async function settle(lease: Lease, record: TrajectoryRecord, options: SchedulerOptions): Promise<number | null> {
  const { store, budget } = options;
  const { outcome } = record.document;
  if (outcome.kind === "cancelled" || (options.abort.aborted && outcome.kind === "failed")) {
    // Stopped by us: the episode is as if it had not begun, and runs again when the run goes on.
    await store.release({ lease, failure: "cancelled", message: "the run was stopped", retryInMs: 0, record: null });
    return null;
  }
  if (outcome.kind === "graded") {
    budget.record(false);
    if ((await store.commit({ lease, record })) === "accepted") options.onFinished(lease, record);
    return null;
  }
  budget.record(true);
  const retryInMs = retryDelay(outcome.failure, lease.attempt, options);
  const answer = await store.release({
    lease,
    failure: outcome.failure,
    message: outcome.message,
    retryInMs,
    record: retryInMs === null ? record : null,
  });
  if (answer !== "superseded") options.onFailed(lease, outcome, retryInMs);
  if (answer === "closed") options.onFinished(lease, record);
  const reason = budget.exceeded();
  if (reason !== null) {
    throw new Failure(
      "run_halted",
      `The run halted: ${reason}. The last failure was ${outcome.failure}: ${outcome.message}`,
    );
  }
  if (retryInMs === null && failureClass(outcome.failure) === "ours") {
    throw new Failure("run_halted", `The run halted on a fault of Sandlot (${outcome.failure}): ${outcome.message}`);
  }
  return retryInMs;
}

const ATTEMPTS_BY_CLASS = { policy: 1, user: 1, ours: 2, task: 2, verifier: 1 } as const;

/** Milliseconds until the next attempt, with full jitter, or null when there is none. Reads the failure class alone. */
export function retryDelay(
  failure: FailureCode,
  attempt: number,
  options: { readonly limits: SchedulerLimits; readonly runtime: Pick<Runtime, "randomBytes"> },
): number | null {
  const kind = failureClass(failure);
  const attemptsMax =
    kind in ATTEMPTS_BY_CLASS ? ATTEMPTS_BY_CLASS[kind as keyof typeof ATTEMPTS_BY_CLASS] : options.limits.attemptsMax;
  if (attempt >= Math.min(attemptsMax, options.limits.attemptsMax)) return null;
  const ceiling = Math.min(options.limits.retryMaxMs, options.limits.retryBaseMs * 2 ** (attempt - 1));
  const [byte = 0] = options.runtime.randomBytes(1);
  return Math.round((ceiling * (byte + 1)) / 256);
}
