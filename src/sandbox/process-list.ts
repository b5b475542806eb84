/** The processes of a sandbox, from the records of `native/helper/processes.c`. */
import { Failure } from "../core/errors.ts";
import type { ProcessInfo } from "../core/sandbox.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { startJob } from "./run-job.ts";

const RECORD_BYTES = 32;
/** A record is at most 4,128 bytes; more than 10,000 processes are no sandbox's. */
const LIST_BYTES_MAX = 48 << 20;
const LIST_MS = 30_000;

/** Throws `sandbox_busy` when the sandbox's own processes prevented the look. */
export async function listProcesses(context: CommandContext): Promise<readonly ProcessInfo[]> {
  const frame = {
    kind: JOB.processes,
    killsAtLimit: false,
    killsDescendants: false,
    hasInput: false,
    uid: 0,
    timeoutMs: LIST_MS,
    idleOutputMs: 0,
    killGraceMs: 0,
    outputBytesMax: LIST_BYTES_MAX,
    pipes: [],
    cwd: "/",
    argv: ["processes"],
    envVars: {},
  };
  const result = await startJob(context, frame, { timeoutMs: LIST_MS, outputBytesMax: LIST_BYTES_MAX }).result;
  if (result.exitCode !== 0 || result.stdoutBytesTruncated > 0)
    throw new Failure("sandbox_busy", `The sandbox's processes could not be read (${result.verdict}); try again.`);
  return decodeProcesses(Buffer.from(result.stdout));
}

/** Throws `unexpected` for a record that is cut off. */
export function decodeProcesses(bytes: Buffer): readonly ProcessInfo[] {
  const processes: ProcessInfo[] = [];
  for (let at = 0; at < bytes.length; ) {
    const commandBytes = bytes.length - at < RECORD_BYTES ? Number.POSITIVE_INFINITY : bytes.readUInt32LE(at + 12);
    const end = at + RECORD_BYTES + commandBytes;
    if (end > bytes.length) throw new Failure("unexpected", `The list of processes is cut off at byte ${at}.`);
    processes.push({
      pid: bytes.readUInt32LE(at),
      parentPid: bytes.readUInt32LE(at + 4),
      uid: bytes.readUInt32LE(at + 8),
      command: bytes.toString("utf8", at + RECORD_BYTES, end),
      cpuMs: Number(bytes.readBigUInt64LE(at + 16)) / 1000,
      memoryBytes: Number(bytes.readBigUInt64LE(at + 24)),
    });
    at = end;
  }
  return processes;
}
