/** The record of a fake sandbox: its commands, and writes of watched files. It has no clock; events tell their order alone. */
import type { SandboxEvent, SandboxTrace } from "../core/sandbox.ts";
import { isBelow } from "../core/sandbox-path.ts";
import type { FakeCommand } from "./fake-sandbox-commands.ts";
import type { WatchedFiles } from "./fake-sandbox-tree.ts";

const EVENTS_MAX = 4_000;

export interface FakeTrace {
  /** The same command, seen by a trace that has begun. */
  readonly seen: FakeCommand;
  trace(watched: readonly string[]): Promise<SandboxTrace>;
}

/** Records until `ended` aborts. */
export function fakeTrace(files: WatchedFiles, onCommand: FakeCommand | undefined, ended: AbortSignal): FakeTrace {
  const events: SandboxEvent[] = [];
  let isOn = false;
  let dropped = 0;
  const add = (kind: SandboxEvent["kind"], path: string, argv: readonly string[] | null): void => {
    if (events.length < EVENTS_MAX) events.push({ kind, path, argv, atMs: events.length, pid: null });
    else dropped += 1;
  };
  return {
    seen: (command, context) => {
      if (isOn) add("exec", "/bin/sh", ["/bin/sh", "-c", command]);
      return onCommand?.(command, context) ?? {};
    },
    trace: async (watched) => {
      isOn = true;
      const onEvent = ({ path, kind }: { path: string; kind: string }): void => {
        const isWatched = watched.some((one) => isBelow(path, one));
        if (isWatched && kind !== "removed") add("write", path, null);
      };
      void files.watch("/", onEvent, ended);
      return { log: async () => ({ startedAt: 0, events: [...events], dropped }) };
    },
  };
}
