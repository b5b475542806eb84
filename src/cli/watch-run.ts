/**
 * Runs a loop of the product under the eyes of a person: a live board on a terminal, plain lines elsewhere, signals
 * turned into draining and stopping. Knows nothing of what the loop does.
 */

import { Failure } from "../core/errors.ts";
import type { RunEvent } from "../core/events.ts";
import type { RunKind } from "../core/store.ts";
import { systemRuntime } from "../runtime/system.ts";
import { commandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { plainLines } from "./plain-lines.ts";
import { stopSignals } from "./stop-signals.ts";

export interface Watched {
  readonly onEvent: (event: RunEvent) => void;
  /** First Ctrl-C: finish the step, save. */
  readonly drain: AbortSignal;
  /** Second: stop at once. */
  readonly abort: AbortSignal;
}

export interface Seen<T> {
  readonly value: T;
  /** Exit code of the signal that ended it, or null. */
  readonly signalExit: number | null;
}

/** Gives `work` what it needs to be watched; the terminal and the signals are given back also when it throws. */
export async function watchRun<T>(
  context: CliContext,
  kind: RunKind,
  work: (watched: Watched) => Promise<T>,
): Promise<Seen<T>> {
  const view = await openView(context, kind);
  const goOn = kind === "train" ? `${commandName()} run resume` : null;
  const signals = stopSignals(systemRuntime(), view.say, goOn);
  try {
    const value = await work({ onEvent: view.onEvent, drain: signals.drain, abort: signals.abort });
    return { value, signalExit: signals.exitCode() };
  } catch (error) {
    // Who stops at once also stops what we were waiting for; its complaint is not the news.
    if (!signals.abort.aborted) throw error;
    process.exitCode = signals.exitCode() ?? EXIT.interrupted;
    throw new Failure("cancelled", "Stopped at once.", { cause: error });
  } finally {
    await view.close();
    signals.dispose();
  }
}

interface View {
  readonly onEvent: (event: RunEvent) => void;
  readonly say: (text: string) => void;
  close(): Promise<void>;
}

async function openView({ stream }: CliContext, kind: RunKind): Promise<View> {
  const { CI, TERM } = process.env;
  if (stream.isTTY === true && (CI === undefined || CI === "" || CI === "false") && TERM !== "dumb") {
    const { openBoard } = await import("./board.ts");
    return openBoard(stream, kind);
  }
  return {
    onEvent: plainLines((line) => void stream.write(`${line}\n`)),
    say: (text) => void process.stderr.write(`${text}\n`),
    close: async () => undefined,
  };
}
