/** Turns the exit frame of a job into an ExecResult: exactly one verdict, and a field for each fact. */
import { constants } from "node:os";
import type { ExecResult, ExecVerdict, StartError } from "../core/exec.ts";
import { EXIT_FLAG, type ExitFrame } from "./frames.ts";

const START_ERRORS: readonly StartError[] = [
  "not_found",
  "not_executable",
  "is_directory",
  "bad_interpreter",
  "bad_cwd",
  "too_long",
  "process_limit",
];

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Exactly one verdict; the more specific wins. */
function verdictOf(exit: ExitFrame): ExecVerdict {
  const has = (flag: number): boolean => (exit.flags & flag) !== 0;
  if (has(EXIT_FLAG.cancelled)) return "cancelled";
  if (has(EXIT_FLAG.timedOut)) return "timed_out";
  if (has(EXIT_FLAG.idleTimedOut)) return "idle_timed_out";
  if (has(EXIT_FLAG.outputLimit)) return "output_limit";
  if (exit.how === "start_failed") return "start_failed";
  /* A command that lived on after a child was killed for memory has an exit of its own; the flag still tells. */
  if (exit.how === "signalled" && exit.code === constants.signals.SIGKILL && has(EXIT_FLAG.oomKilled))
    return "oom_killed";
  return exit.how;
}

/** `stdout` and `stderr` are what was kept of the output. */
export function execResult(exit: ExitFrame, stdout: Uint8Array, stderr: Uint8Array): ExecResult {
  const verdict = verdictOf(exit);
  const isOwnEnd = verdict === "exited" || verdict === "signalled" || verdict === "oom_killed";
  const hasRun = exit.how !== "start_failed";
  return {
    verdict,
    exitCode: isOwnEnd && exit.how === "exited" ? exit.code : null,
    signal: isOwnEnd && exit.how === "signalled" ? (SIGNAL_NAMES.get(exit.code) ?? `SIG${exit.code}`) : null,
    timedOut: (exit.flags & EXIT_FLAG.timedOut) !== 0,
    idleTimedOut: (exit.flags & EXIT_FLAG.idleTimedOut) !== 0,
    oomKilled: (exit.flags & EXIT_FLAG.oomKilled) !== 0,
    oomScope: exit.oomScope,
    startError: hasRun ? null : (START_ERRORS[exit.startError - 1] ?? "not_executable"),
    stdout,
    stderr,
    stdoutBytesTruncated: exit.stdoutBytesDropped,
    stderrBytesTruncated: exit.stderrBytesDropped,
    durationMs: exit.durationMs,
    cpuMs: hasRun ? exit.cpuMs : null,
    memoryPeakBytes: hasRun ? exit.memoryPeakBytes : null,
    processLimitHits: exit.processLimitHits,
    processesLeft: exit.processesLeft,
  };
}

/** The result of a command that never ran. */
export function startFailed(startError: StartError | null): ExecResult {
  return {
    verdict: "start_failed",
    exitCode: null,
    signal: null,
    timedOut: false,
    idleTimedOut: false,
    oomKilled: false,
    oomScope: null,
    startError,
    stdout: new Uint8Array(),
    stderr: new Uint8Array(),
    stdoutBytesTruncated: 0,
    stderrBytesTruncated: 0,
    durationMs: 0,
    cpuMs: null,
    memoryPeakBytes: null,
    processLimitHits: 0,
    processesLeft: 0,
  };
}
