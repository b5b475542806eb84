/**
 * Ctrl-C once drains: the step in hand is finished and saved. Twice stops at once. Both leave a training run that can be
 * resumed. A third, should stopping hang, leaves at once.
 */
import type { Runtime } from "../core/runtime.ts";
import { SIGNAL_EXIT } from "./exit-code.ts";

type StopSignal = keyof typeof SIGNAL_EXIT;

export interface StopSignals {
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
  /** Exit code of the first signal, or null when none came. */
  exitCode(): number | null;
  /** Gives the signals their usual meaning back. */
  dispose(): void;
}

/** One key press can arrive twice: npm passes on what the terminal has already delivered to the whole group. */
const SAME_PRESS_MS = 300;

/** Watches the process's signals; `say` gets one sentence for a person at each. `goOn` is the command that resumes, if any. */
export function stopSignals(
  runtime: Pick<Runtime, "monotonic">,
  say: (text: string) => void,
  goOn: string | null,
): StopSignals {
  const drain = new AbortController();
  const abort = new AbortController();
  let first: StopSignal | null = null;
  let last = Number.NEGATIVE_INFINITY;
  const onSignal = (signal: StopSignal): void => {
    const now = runtime.monotonic();
    const isSamePress = now - last < SAME_PRESS_MS;
    last = now;
    if (isSamePress) return;
    first ??= signal;
    if (!drain.signal.aborted) {
      say(firstWords(signal, goOn));
      drain.abort(signal);
    } else if (!abort.signal.aborted) {
      say(goOn === null ? "Stopping at once." : `Stopping at once. Go on with: ${goOn}`);
      abort.abort(signal);
    } else {
      process.exit(SIGNAL_EXIT[signal]);
    }
  };
  const signals = Object.keys(SIGNAL_EXIT) as StopSignal[];
  for (const signal of signals) process.on(signal, onSignal);
  return {
    drain: drain.signal,
    abort: abort.signal,
    exitCode: () => (first === null ? null : SIGNAL_EXIT[first]),
    dispose: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

function firstWords(signal: StopSignal, goOn: string | null): string {
  const again = signal === "SIGINT" ? " Ctrl-C again stops at once" : "";
  if (goOn === null) return `Finishing what was begun.${again === "" ? "" : `${again}.`}`;
  return `Finishing the current step.${again === "" ? " Go" : `${again}; go`} on with: ${goOn}`;
}
