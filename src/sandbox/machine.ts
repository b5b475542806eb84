/**
 * One machine made by the namespace helper: a connection whose agent has answered. A sandbox has one at a time; a
 * snapshot, fork or reset gives it another, on other layers.
 */
import type { Socket } from "node:net";
import { Failure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { SandboxRequest } from "../core/sandbox.ts";
import { AgentClient } from "./agent-client.ts";
import type { CommandContext } from "./command-context.ts";
import { encodeFrame, FRAME } from "./frames.ts";
import type { ResolvedImage } from "./image/image-contract.ts";
import type { Layer, LayerStacks } from "./layer-stack.ts";
import type { NetworkControl } from "./proxy/network-control.ts";
import { startCommand } from "./run-command.ts";
import type { Zygote } from "./zygote.ts";

/** A machine under load answers late, not never. */
const CREATE_MS_MAX = 30_000;
/** The owner ends a sandbox at its lifetime; this much later the helper does, whatever became of the owner. */
const LIFETIME_GRACE_MS = 2_000;

/** What makes machines. */
export interface Engine {
  readonly zygote: Zygote;
  /** Null where this kernel cannot seal storage. */
  readonly stacks: LayerStacks | null;
}

export interface MachineSpec {
  /** Of the sandbox it serves, as messages name it. */
  readonly sandboxId: string;
  readonly request: SandboxRequest;
  readonly image: ResolvedImage;
  /** What it stands on; null for the image alone. Held by the caller. */
  readonly layer: Layer | null;
  readonly lifetimeMs: number;
  /** It takes the place of, or forks from, a machine of the same image that has answered: the helper may make it of a
      blank, and instead of a first command a ping is answered. */
  readonly isRenewal?: boolean;
  readonly network: NetworkControl;
  /** Its diff and export tell of the layer it stands on, not of what it writes itself. */
  readonly showsTop?: boolean;
  /** `STEP:ERRNO`: the helper fails after that step. For tests. */
  readonly fault?: string;
}

export interface Machine {
  /** Its own name at the helper and of its control groups. */
  readonly boxId: string;
  readonly client: AgentClient;
  kill(): void;
  /** The helper ends it so long from now, unless the owner has. */
  setLifetime(lifetimeMs: number): void;
}

/**
 * Resolves once a first command has answered, or a ping of a renewal. Throws `sandbox_unavailable` naming the step that failed, and `cancelled`;
 * nothing is left of it then.
 */
export function createMachine(
  runtime: Runtime,
  engine: Engine,
  socket: Socket,
  spec: MachineSpec,
  signal?: AbortSignal,
): Promise<Machine> {
  const create = (): Promise<Machine> => makeMachine(runtime, engine, socket, spec, signal);
  return engine.stacks === null ? create() : engine.stacks.during(create);
}

async function makeMachine(
  runtime: Runtime,
  engine: Engine,
  socket: Socket,
  spec: MachineSpec,
  signal?: AbortSignal,
): Promise<Machine> {
  const { sandboxId, request, network } = spec;
  const boxId = runtime.id().toLowerCase();
  const port = network.port();
  const kill = (): void => engine.zygote.kill(boxId);
  const client = new AgentClient(sandboxId, socket, { onRelayFrame: port.onFrame, runtime, kill });
  const context = { client, runtime, kill, envVars: request.envVars };
  socket.write(encodeFrame(0, FRAME.create, 0, encodeCreate(boxId, engine, spec)));
  /* Sent at once behind the create frame: the machine is ready when this has been answered. */
  const answered = spec.isRenewal === true ? answerPing(context) : answerCommand(context, spec, engine);
  signal?.addEventListener("abort", kill, { once: true });
  try {
    await answered;
    refuseCancelled(signal);
    await port.open(client);
  } catch (error) {
    kill();
    await client.gone;
    refuseCancelled(signal);
    if (error instanceof Failure && error.code === "sandbox_unavailable") throw error;
    const message = `Sandbox ${sandboxId} could not be made: ${String(error)}`;
    throw new Failure("sandbox_unavailable", message, { cause: error });
  } finally {
    signal?.removeEventListener("abort", kill);
  }
  const setLifetime = (lifetimeMs: number): void => engine.zygote.setLifetime(boxId, lifetimeMs + LIFETIME_GRACE_MS);
  return { boxId, client, kill, setLifetime };
}

/** What has run a program under an engine: an image within limits; a host's own folders differ no more than that. */
const proven = new WeakMap<Engine, Set<string>>();

/**
 * Throws `sandbox_unavailable` when the first command could not be run. The first sandbox of an image with these limits
 * runs a program, for which they may be too small; in later ones the kernel's answer that the root folder is none proves
 * users, groups and filters, for a third of the time.
 */
async function answerCommand(
  context: CommandContext,
  { sandboxId, image, request }: MachineSpec,
  engine: Engine,
): Promise<void> {
  const kinds = proven.get(engine) ?? new Set();
  proven.set(engine, kinds);
  const kind = JSON.stringify([image.hash, Object.entries(request.limits).sort(), request.seccomp ?? "default"]);
  const isProven = kinds.has(kind);
  const options = { timeoutMs: CREATE_MS_MAX, outputBytesMax: 1_024 };
  const result = await startCommand(context, [isProven ? "/" : "/bin/true"], options).result;
  if (isFirstAnswer(result, isProven, image.bindsSystem)) {
    kinds.add(kind);
    return;
  }
  throw new Failure(
    "sandbox_unavailable",
    `Sandbox ${sandboxId} was made, but its first command ended as ${result.verdict} (${result.startError ?? result.exitCode}).`,
  );
}

/**
 * Whether the first command of a machine shows that others can be started. Asked to run a folder, only the kernel's last
 * word counts: an earlier step that failed, such as joining a group, would fail for every command.
 */
export function isFirstAnswer(
  { exitCode, startError }: Pick<ExecResult, "exitCode" | "startError">,
  isProven: boolean,
  bindsSystem: boolean,
): boolean {
  if (isProven) return startError === "is_directory";
  if (exitCode === 0) return true;
  /* An image need not have any program; that the agent has looked for it is an answer. */
  return !bindsSystem && startError !== null && startError !== "process_limit";
}

async function answerPing({ client, runtime, kill }: CommandContext): Promise<void> {
  const cancelLate = runtime.timer(CREATE_MS_MAX, kill);
  try {
    await client.ping();
  } finally {
    cancelLate();
  }
}

/** Throws `cancelled` when `signal` has aborted. */
export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new Failure("cancelled", "The creation of a sandbox was cancelled.", { cause: signal.reason });
}

function encodeCreate(boxId: string, engine: Engine, spec: MachineSpec): Buffer {
  const { request, image, layer, lifetimeMs, fault } = spec;
  const { limits } = request;
  const layers = engine.stacks?.names(layer) ?? [];
  const fields = {
    id: boxId,
    memory: limits.memoryBytes,
    disk: limits.diskBytes,
    shm: limits.shmBytes,
    files: limits.filesMax,
    processes: limits.processesMax,
    cpu: Math.max(1_000, Math.round(limits.cpus * 100_000)),
    lifetime: Math.ceil(lifetimeMs) + LIFETIME_GRACE_MS,
    seccomp: request.seccomp ?? "default",
    system: image.bindsSystem ? 1 : 0,
    lowers: image.lowers.join(","),
    ...(layers.length > 0 ? { layers: layers.join(",") } : {}),
    ...(spec.showsTop === true ? { top: 1 } : {}),
    ...(spec.isRenewal === true ? { blank: 1 } : {}),
    ...(fault === undefined ? {} : { fail: fault }),
  };
  return Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(""),
  );
}
