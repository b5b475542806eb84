/**
 * Grades frozen artifacts, once per verdict identity: a verdict in memory is returned, siblings with an equal identity
 * in flight share one grading, and both are counted as reused. A verifier fault is graded again from the same frozen
 * state before it becomes a failure; the agent never runs again for it.
 */
import { Failure, type FailureClass, failureClass, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";
import type { Artifacts, Verdict, VerdictMemory, Verifier } from "../core/verifier.ts";

/** How often a fault is graded again before the episode fails with it. */
const REGRADES_MAX = 2;
const GRADED_AGAIN: readonly FailureClass[] = ["verifier", "infrastructure", "endpoint"];

/** Everything a verdict depends on that is known before grading; equal inputs, equal identity. */
export interface VerdictIdentityInput {
  readonly task: Task;
  readonly artifacts: Artifacts;
  readonly gradingSeed: bigint;
  readonly verifierVersion: number;
}

export interface GraderOptions {
  readonly pool: SandboxPool;
  readonly verifier: Verifier;
  readonly verdicts: VerdictMemory;
  readonly identity: (input: VerdictIdentityInput) => string | Promise<string>;
  readonly runtime: Runtime;
}

export interface GradeInput {
  readonly task: Task;
  readonly artifacts: Artifacts;
  readonly gradingSeed: bigint;
  readonly attemptId: string;
  readonly fence: number;
  /** False for a forced re-verification: always grades, and neither reads nor writes memory. */
  readonly mayReuse: boolean;
  readonly signal: AbortSignal;
}

export interface Grader {
  /** Throws the verifier's failure after its last try, or `cancelled`. */
  grade(input: GradeInput): Promise<Verdict>;
}

interface Flight {
  readonly verdict: Promise<Verdict>;
  readonly controller: AbortController;
  waiting: number;
}

/** One grader serves all episodes of a process: that is what lets siblings share a grading. */
export function createGrader(options: GraderOptions): Grader {
  const flights = new Map<string, Flight>();
  return {
    async grade(input) {
      const identity = await options.identity({
        task: input.task,
        artifacts: input.artifacts,
        gradingSeed: input.gradingSeed,
        verifierVersion: options.verifier.version,
      });
      if (!input.mayReuse || !mayShare(input.task)) return gradeAgainOnFault(options, input, identity, input.signal);
      const known = options.verdicts.find(identity);
      if (known !== null) return { ...known, isReused: true };
      const flying = flights.get(identity);
      if (flying !== undefined && !flying.controller.signal.aborted)
        return { ...(await join(flying, input.signal)), isReused: true };
      const flight = launch(options, input, identity);
      flights.set(identity, flight);
      const land = (): void => {
        if (flights.get(identity) === flight) flights.delete(identity);
      };
      flight.verdict.then(land, land);
      return join(flight, input.signal);
    },
  };
}

function launch(options: GraderOptions, input: GradeInput, identity: string): Flight {
  const controller = new AbortController();
  const verdict = gradeAgainOnFault(options, input, identity, controller.signal).then((graded) => {
    if (isFinal(graded)) options.verdicts.remember(graded);
    return graded;
  });
  return { verdict, controller, waiting: 0 };
}

/** A test that ran out of time may have had a busy machine; whoever comes later is graded anew. */
function isFinal({ tests }: Verdict): boolean {
  return tests.every(({ status }) => status !== "timeout");
}

/** Time is measured for each state anew: another run of the same machine's would be another's. */
function mayShare({ verifier }: Task): boolean {
  return verifier.tiers.every(({ runner }) => runner !== "performance");
}

/** Waits for a flight. A waiter that gives up leaves the others theirs; the last one to leave ends the grading. */
async function join(flight: Flight, signal: AbortSignal): Promise<Verdict> {
  flight.waiting += 1;
  let leave = (): void => undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(new Failure("cancelled", "The grading was given up.", { cause: signal.reason }));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([flight.verdict, left]);
  } finally {
    signal.removeEventListener("abort", leave);
    flight.waiting -= 1;
    // A reason of its own spares the error that would be made in its place, with its stack.
    if (flight.waiting === 0) flight.controller.abort(signal.reason ?? "nobody waits for it any more");
  }
}

async function gradeAgainOnFault(
  options: GraderOptions,
  input: GradeInput,
  identity: string,
  signal: AbortSignal,
): Promise<Verdict> {
  for (let regrade = 0; ; regrade += 1) {
    try {
      return await gradeOnce(options, input, identity, regrade, signal);
    } catch (error) {
      const failure = toFailure(error);
      const faultClass = failureClass(failure.code);
      const isFault = GRADED_AGAIN.includes(faultClass);
      if (signal.aborted || !isFault || regrade === REGRADES_MAX) throw asFault(failure, faultClass);
    }
  }
}

/** A judge that cannot be reached is the verifier's fault, not the policy endpoint's: the agent does not run again for it. */
function asFault(failure: Failure, faultClass: FailureClass): Failure {
  if (faultClass !== "endpoint") return failure;
  const message = `The judge could not be asked (${failure.code}): ${failure.message}`;
  return new Failure("verifier_crashed", message, { cause: failure });
}

async function gradeOnce(
  options: GraderOptions,
  input: GradeInput,
  identity: string,
  regrade: number,
  signal: AbortSignal,
): Promise<Verdict> {
  const { task, artifacts, gradingSeed, fence } = input;
  // Creating a sandbox is idempotent by attempt, so a second grading must not meet the sandboxes of the first.
  const attemptId = regrade === 0 ? input.attemptId : `${input.attemptId}-regrade-${regrade}`;
  const graded = await options.verifier.grade({ task, artifacts, gradingSeed, attemptId, fence, signal }, options.pool);
  if (!Number.isFinite(graded.total) || graded.total < 0 || graded.total > 1) {
    throw new Failure("verifier_report_invalid", `The verifier gave the total ${graded.total}; it must lie in [0, 1].`);
  }
  return { ...graded, identity, isReused: false };
}

/** Whether no verifier ever saw the state, so that there is nothing to repeat. */
export function isOfNothing({ identity }: Pick<Verdict, "identity">): boolean {
  return /^(nothing|ungraded)-/.test(identity);
}

/** The verdict where there is nothing to grade: no answer, no file. No verifier ran, so there are no tests. */
export function verdictOfNothing(task: Task, gradingSeed: bigint, identity: string): Verdict {
  return {
    total: 0,
    isVetoed: false,
    extraTests: [],
    measures: [],
    judge: null,
    visible: null,
    scores: task.verifier.tiers.map((tier) => ({
      verifier: tier.runner ?? task.verifier.kind,
      name: tier.name,
      value: 0,
      weight: tier.weight,
      tier: tier.name,
      visibility: tier.visibility,
      gate: tier.gate,
    })),
    tests: [],
    identity,
    gradingSeed: String(gradingSeed),
    imageHash: task.image,
    sandboxIds: [],
    durationMs: 0,
    isReused: false,
  };
}
