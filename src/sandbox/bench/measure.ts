/**
 * How a benchmark of sandboxes measures: contenders take turns round by round inside one process, so that what else the
 * machine does falls on all of them alike. What throws is a failure and is counted; it never is a missing sample.
 */
import type { Runtime } from "../../core/runtime.ts";

/** Of a peer's failure; some carry whole stacks. */
const FAILURE_CHARACTERS = 160;

/** Times of one quantity, in milliseconds. */
export interface Quantity {
  readonly name: string;
  readonly contender: string;
  readonly rounds: number;
  readonly failures: number;
  /** Null when every round failed. */
  readonly min: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
  /** Why the last failed round failed. */
  readonly lastFailure: string | null;
}

/** One way to do what a quantity times; gives the milliseconds, or null to have the call itself timed. */
export type Once = () => Promise<number | null>;

/** Runs each contender once per round, in turn, and sums up what each took. */
export async function interleaved(
  runtime: Runtime,
  name: string,
  rounds: number,
  contenders: Readonly<Record<string, Once>>,
): Promise<Quantity[]> {
  const tallies = Object.entries(contenders).map(([contender, once]) => ({
    contender,
    once,
    times: [] as number[],
    failures: 0,
    lastFailure: null as string | null,
  }));
  for (let round = 0; round < rounds; round += 1) {
    for (const tally of tallies) {
      const startedAt = runtime.monotonic();
      try {
        const own = await tally.once();
        tally.times.push(typeof own === "number" ? own : runtime.monotonic() - startedAt);
      } catch (error) {
        tally.failures += 1;
        tally.lastFailure = (error instanceof Error ? error.message : String(error)).slice(0, FAILURE_CHARACTERS);
      }
    }
  }
  return tallies.map(({ contender, times, failures, lastFailure }) => ({
    name,
    contender,
    rounds,
    failures,
    ...percentiles(times),
    lastFailure,
  }));
}

/** Null for no times. */
export function percentiles(times: readonly number[]): Pick<Quantity, "min" | "p50" | "p99"> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
  return { min: at(0), p50: at(0.5), p99: at(0.99) };
}

/** Runs `work` for 0 … count − 1 with at most `inFlight` at a time. */
export async function spread(count: number, inFlight: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, worker));
}
