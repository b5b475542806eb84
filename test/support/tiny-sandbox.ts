/**
 * The product's in-memory sandbox with a shell of a few words, for tests of the episode loop: `write PATH TEXT`,
 * `read PATH`, `print TEXT`, `flood BYTES`, `sleep MS`, `exit CODE`, `oom`, `die` (the agent kills its sandbox) and
 * `lose` (the machine loses it). It remembers what was asked for.
 */
import { Failure } from "../../src/core/errors.ts";
import type { ExecResult } from "../../src/core/exec.ts";
import type { Runtime } from "../../src/core/runtime.ts";
import type { SandboxRequest } from "../../src/core/sandbox.ts";
import type { SandboxPool } from "../../src/core/sandbox-pool.ts";
import { fakeSandboxPool } from "../../src/sandbox/fake-sandbox.ts";
import type { FakeAnswer, FakeCommand } from "../../src/sandbox/fake-sandbox-commands.ts";

export interface TinyPool extends SandboxPool {
  readonly requests: SandboxRequest[];
  readonly lent: () => number;
}

export function tinyPool(runtime: Runtime, options: { readonly failClaim?: boolean } = {}): TinyPool {
  const requests: SandboxRequest[] = [];
  const dead = new Set<SandboxRequest>();
  const createFailures = options.failClaim === true ? Number.POSITIVE_INFINITY : 0;
  const pool = fakeSandboxPool({ onCommand: tinyShell(runtime, dead), createFailures });
  return {
    ...pool,
    requests,
    lent: () => pool.lent,
    claim: async (request, signal) => {
      const sandbox = await pool.claim(request, signal);
      requests.push(request);
      const freeze = async (): Promise<void> => {
        if (dead.has(request)) throw killed();
        await sandbox.freeze();
      };
      return { ...sandbox, freeze };
    },
  };
}

function tinyShell(runtime: Runtime, dead: Set<SandboxRequest>): FakeCommand {
  return async (command, { files, options, request }): Promise<FakeAnswer> => {
    const [verb = "", first = "", ...rest] = command.split(" ");
    switch (verb) {
      case "write":
        files.set(first, { bytes: Buffer.from(rest.join(" ")), mode: 0o644 });
        return {};
      case "read": {
        const file = files.get(first);
        if (file === undefined) return { exitCode: 1, stderr: `${first}: no such file` };
        return { stdout: Buffer.from(file.bytes).toString() };
      }
      case "print":
        return { stdout: [first, ...rest].join(" ") };
      case "flood":
        return { stdout: "x".repeat(Number(first)) };
      case "sleep":
        return sleep(runtime, Number(first), options.timeoutMs, options.signal);
      case "exit":
        return { exitCode: Number(first), stderr: first === "0" ? "" : "no good" };
      case "oom":
        return { exitCode: 137, result: { oomKilled: true } };
      case "die":
        dead.add(request);
        throw killed();
      case "lose":
        throw new Failure("sandbox_lost", "The machine lost the sandbox.");
      default:
        return {};
    }
  };
}

/** Ends at its time, at the time limit, or when it is given up. */
async function sleep(runtime: Runtime, ms: number, timeoutMs: number, signal?: AbortSignal): Promise<FakeAnswer> {
  const cancelled: Partial<ExecResult> = { verdict: "cancelled", exitCode: null };
  const late: Partial<ExecResult> = { verdict: "timed_out", timedOut: true, exitCode: null };
  const end = ms > timeoutMs ? { result: late } : {};
  return runtime.sleep(Math.min(ms, timeoutMs), signal).then(
    () => end,
    () => ({ result: cancelled }),
  );
}

function killed(): Failure {
  return new Failure("sandbox_killed", "The agent killed its sandbox.");
}
