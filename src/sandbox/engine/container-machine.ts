/**
 * One container from its creation until the engine has confirmed that nothing of it is left: the machine behind one
 * sandbox handle. Ends are asked for, never inferred: the stream's end makes it ask the engine, and only a confirmed
 * removal closes the agent's channel.
 */
import { constants } from "node:os";
import { Failure } from "../../core/errors.ts";
import type { ExecResult } from "../../core/exec.ts";
import type { Runtime } from "../../core/runtime.ts";
import { AgentClient } from "../agent-client.ts";
import type { NetworkPort } from "../proxy/network-control.ts";
import { startCommand } from "../run-command.ts";
import { type ContainerPlan, containerOptions } from "./container-options.ts";
import type { ContainerEnd, EngineClient } from "./engine-client.ts";
import { engineStream } from "./engine-stream.ts";

/** A machine under load answers late, not never. */
const FIRST_EXEC_MS_MAX = 30_000;
/** A removal that the engine does not confirm is asked for again, then left to the sweep. */
const REMOVALS_MAX = 5;
const REMOVAL_ROUND_MS = 500;

export interface ContainerMachine {
  readonly containerId: string;
  readonly client: AgentClient;
  kill(): void;
}

export interface MachineParts {
  readonly runtime: Runtime;
  readonly engine: EngineClient;
  /** This machine's end of the sandbox's network. */
  readonly port: NetworkPort;
}

/** Resolves when a first command has answered. Throws `sandbox_unavailable` or `cancelled`, with nothing left behind. */
export async function startMachine(
  parts: MachineParts,
  plan: ContainerPlan,
  signal: AbortSignal,
): Promise<ContainerMachine> {
  const { engine } = parts;
  refuseCancelled(signal);
  const containerId = await engine.createContainer(`sandlot-${plan.info.id}`, containerOptions(plan));
  try {
    refuseCancelled(signal);
    return await enter(parts, plan, containerId, signal);
  } catch (error) {
    await engine.remove(containerId);
    refuseCancelled(signal);
    if (error instanceof Failure && error.code === "sandbox_unavailable") throw error;
    throw new Failure("sandbox_unavailable", `Sandbox ${plan.info.id} could not be made: ${String(error)}`, {
      cause: error,
    });
  }
}

async function enter(
  { runtime, engine, port }: MachineParts,
  plan: ContainerPlan,
  containerId: string,
  signal: AbortSignal,
): Promise<ContainerMachine> {
  const attached = await engine.attach(containerId);
  let isEnding = false;
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    void removeSurely(runtime, engine, containerId).then((last) => stream.finish(waitStatus(last)));
  };
  const stream = engineStream(attached, end);
  const endStatus = (): number | null => stream.endStatus;
  const client = new AgentClient(plan.info.id, stream, { runtime, kill: end, onRelayFrame: port.onFrame, endStatus });
  signal.addEventListener("abort", end, { once: true });
  try {
    await engine.start(containerId);
    const context = { client, runtime, envVars: {}, kill: end };
    const options = { timeoutMs: FIRST_EXEC_MS_MAX, outputBytesMax: 1_024 };
    const first = await startCommand(context, ["/bin/true"], options).result;
    if (!hasAnswered(first))
      throw new Failure(
        "sandbox_unavailable",
        `Sandbox ${plan.info.id} was made, but its first command ended as ${first.verdict} (${first.startError ?? first.exitCode}).`,
      );
    await port.open(client);
    refuseCancelled(signal);
    return { containerId, client, kill: end };
  } catch (error) {
    const said = stream.errorText.trim();
    end();
    await client.gone;
    if (said === "") throw error;
    throw new Failure("sandbox_unavailable", `Sandbox ${plan.info.id} could not be made: ${said}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** An image without /bin/true has answered too: its agent looked for it. */
function hasAnswered(first: ExecResult): boolean {
  return first.exitCode === 0 || first.startError === "not_found";
}

/** How it ended, where the engine still knew, once it is confirmed to be gone. */
async function removeSurely(runtime: Runtime, engine: EngineClient, id: string): Promise<ContainerEnd | null> {
  const last = await engine.endOf(id).catch(() => null);
  for (let round = 1; ; round += 1) {
    try {
      await engine.remove(id);
      return last;
    } catch {
      if (round >= REMOVALS_MAX) return last;
      await runtime.sleep(REMOVAL_ROUND_MS * round);
    }
  }
}

/** A container's exit code as a wait status: engines tell a signal as 128 and its number. */
function waitStatus(end: ContainerEnd | null): number {
  if (end === null) return constants.signals.SIGKILL;
  return end.exitCode > 128 ? end.exitCode - 128 : end.exitCode << 8;
}

function refuseCancelled(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Failure("cancelled", "The creation of a sandbox was cancelled.", { cause: signal.reason });
}
