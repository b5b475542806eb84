/**
 * Commands of `start` that can be attached to again by their id, with what is kept of their output: the running ones,
 * and of the ended ones the latest. They belong to one machine: behind a renewed handle there are none.
 */
import { Failure } from "../core/errors.ts";
import type { ExecOptions, SandboxProcess } from "../core/exec.ts";
import type { AgentClient } from "./agent-client.ts";
import type { CommandContext } from "./command-context.ts";
import type { RunningJob } from "./run-job.ts";

/** Of ended commands; the oldest go first. */
const ENDED_MAX = 64;
const ENDED_BYTES_MAX = 16 << 20;

const kept = new WeakMap<AgentClient, Map<string, RunningJob>>();

/** Lets a command be attached to by its id, while it runs and for a while after. */
export function keepCommand({ client }: CommandContext, job: RunningJob): void {
  const jobs = kept.get(client) ?? new Map<string, RunningJob>();
  kept.set(client, jobs.set(job.id, job));
  void job.result.catch(() => undefined).then(() => forgetOld(jobs));
}

/** Throws `not_found` for a command that was not started here, or ended long ago. */
export function attachCommand(context: CommandContext, id: string, onOutput: ExecOptions["onOutput"]): SandboxProcess {
  const job = kept.get(context.client)?.get(id);
  if (job === undefined)
    throw new Failure("not_found", `No command "${id}" was started in this sandbox, or it ended long ago.`);
  if (onOutput !== undefined) job.listen(onOutput);
  return job;
}

function forgetOld(jobs: Map<string, RunningJob>): void {
  const ended = [...jobs.values()].filter((job) => job.isSettled).reverse();
  let bytes = 0;
  for (const [index, job] of ended.entries()) {
    bytes += job.keptBytes;
    if (index >= ENDED_MAX || (index > 0 && bytes > ENDED_BYTES_MAX)) jobs.delete(job.id);
  }
}
