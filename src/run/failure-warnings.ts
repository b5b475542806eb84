/** Tells a person that attempts fail while a run goes on: each kind of failure at once, then at most every few seconds. */
import type { FailureCode } from "../core/errors.ts";
import type { EventSink } from "../core/events.ts";
import type { Runtime } from "../core/runtime.ts";
import type { SchedulerOptions } from "../rollout/scheduler.ts";

const QUIET_MS = 10_000;
const MESSAGE_CHARACTERS_MAX = 300;

/** What the scheduler calls for each failed attempt; those kept quiet are counted in the next warning of their code. */
export function failureWarnings(runtime: Pick<Runtime, "monotonic">, onEvent: EventSink): SchedulerOptions["onFailed"] {
  const kinds = new Map<FailureCode, { toldAt: number; quiet: number }>();
  return (lease, { failure, message }, retryInMs) => {
    const kind = kinds.get(failure) ?? { toldAt: Number.NEGATIVE_INFINITY, quiet: 0 };
    kinds.set(failure, kind);
    if (runtime.monotonic() - kind.toldAt < QUIET_MS) {
      kind.quiet += 1;
      return;
    }
    const next = retryInMs === null ? "no attempt follows" : `the next follows in ${(retryInMs / 1_000).toFixed(1)} s`;
    const others = kind.quiet === 0 ? "" : ` So did ${kind.quiet} more since the last warning.`;
    const said = message.slice(0, MESSAGE_CHARACTERS_MAX);
    onEvent({
      kind: "warning-raised",
      message: `Attempt ${lease.attempt} of episode ${lease.episodeNo} failed (${failure}: ${said}); ${next}.${others}`,
    });
    kind.toldAt = runtime.monotonic();
    kind.quiet = 0;
  };
}
