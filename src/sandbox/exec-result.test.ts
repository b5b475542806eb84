/** One verdict for each end of a command, whatever came together. */
import { constants } from "node:os";
import { expect, test } from "vitest";
import { execResult, startFailed } from "./exec-result.ts";
import { EXIT_FLAG, type ExitFrame } from "./frames.ts";

const EXIT: ExitFrame = {
  how: "exited",
  code: 0,
  startError: 0,
  flags: 0,
  stdoutBytesDropped: 0,
  stderrBytesDropped: 0,
  durationMs: 1,
  cpuMs: 1,
  memoryPeakBytes: 1,
  processLimitHits: 0,
  oomScope: null,
  processesLeft: 0,
};
const nothing = new Uint8Array();
const ended = (change: Partial<ExitFrame>) => execResult({ ...EXIT, ...change }, nothing, nothing);
const KILLED = { how: "signalled", code: constants.signals.SIGKILL } as const;

test("the more specific end is the verdict, and the command's own exit is then not told", () => {
  const { cancelled, timedOut, idleTimedOut, outputLimit, oomKilled } = EXIT_FLAG;
  const flags = [
    [cancelled | timedOut | oomKilled, "cancelled"],
    [timedOut | idleTimedOut | outputLimit, "timed_out"],
    [idleTimedOut | outputLimit, "idle_timed_out"],
    [outputLimit | oomKilled, "output_limit"],
    [oomKilled, "oom_killed"],
    [0, "signalled"],
  ] as const;
  for (const [given, verdict] of flags) {
    const result = ended({ ...KILLED, flags: given });
    expect(result.verdict).toBe(verdict);
    expect(result.signal).toBe(verdict === "oom_killed" || verdict === "signalled" ? "SIGKILL" : null);
    expect(result.exitCode).toBeNull();
  }
  expect(ended({ flags: timedOut })).toMatchObject({ verdict: "timed_out", timedOut: true, exitCode: null });
});

test("a lack of memory is told also when the command lived on, and 137 alone never is one", () => {
  const lived = ended({ code: 3, flags: EXIT_FLAG.oomKilled, oomScope: "sandbox" });
  expect(lived).toMatchObject({ verdict: "exited", exitCode: 3, oomKilled: true, oomScope: "sandbox" });
  expect(ended({ code: 137 })).toMatchObject({ verdict: "exited", exitCode: 137, oomKilled: false, oomScope: null });
});

test("what never ran has no exit and no measures", () => {
  const names = [
    "not_found",
    "not_executable",
    "is_directory",
    "bad_interpreter",
    "bad_cwd",
    "too_long",
    "process_limit",
  ];
  for (const [index, startError] of names.entries()) {
    const result = ended({ how: "start_failed", startError: index + 1 });
    expect(result).toMatchObject({ verdict: "start_failed", startError, exitCode: null, signal: null });
    expect([result.cpuMs, result.memoryPeakBytes]).toEqual([null, null]);
  }
  expect(startFailed("too_long")).toMatchObject({ verdict: "start_failed", startError: "too_long", exitCode: null });
});

test("a signal without a name is told by its number", () => {
  expect(ended({ how: "signalled", code: 40 }).signal).toBe("SIG40");
});
