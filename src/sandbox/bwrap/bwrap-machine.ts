/**
 * One sandbox that bubblewrap made, from the start of the program until nothing of it is left: the machine behind one
 * handle. Its first frame tells the agent its limits; a first command that answers proves it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { SandboxRequest } from "../../core/sandbox.ts";
import { AgentClient } from "../agent-client.ts";
import { encodeFrame, FRAME } from "../frames.ts";
import { startCommand } from "../run-command.ts";
import type { UserIds } from "../user-ids.ts";
import { namelessFile, reopen } from "./agent-bundle.ts";
import { bwrapArguments, CORES_FDS } from "./bwrap-arguments.ts";
import { BwrapStream } from "./bwrap-stream.ts";
import type { HostRoot } from "./host-root.ts";
import { coreList, coresOf, cpuinfo, meminfo } from "./machine-view.ts";
import { spawnIds, type UserNamespaces } from "./user-namespace.ts";

/** A machine under load answers late, not never. */
const FIRST_EXEC_MS_MAX = 30_000;
/** PID 1 that is killed and does not go is then left to the death of bwrap itself. */
const KILL_MS_MAX = 2_000;
const VIEWS_MAX = 32;

/** What makes machines: opened once by a provider. */
export interface BwrapEngine {
  readonly runtime: Runtime;
  readonly program: string;
  readonly ids: UserIds;
  readonly root: HostRoot;
  readonly namespaces: UserNamespaces;
  /** Descriptors of the agent's bundle and of the files that show each shape of a machine. */
  readonly bundle: number;
  readonly views: Map<string, number>;
  nextCore: number;
}

export interface BwrapMachine {
  readonly client: AgentClient;
  kill(): void;
}

/** Resolves when a first command has answered. Throws `sandbox_unavailable` or `cancelled`, with nothing left behind. */
export async function startMachine(
  engine: BwrapEngine,
  sandboxId: string,
  request: SandboxRequest,
  signal: AbortSignal,
): Promise<BwrapMachine> {
  const { runtime } = engine;
  refuseCancelled(signal);
  const child = await startBwrap(engine, request);
  const kill = killer(runtime, child);
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
  const stream = new BwrapStream(child, { stdin, stdout, stderr }, kill);
  const client = new AgentClient(sandboxId, stream, { runtime, kill, endStatus: () => stream.endStatus });
  signal.addEventListener("abort", kill, { once: true });
  try {
    stream.write(encodeFrame(0, FRAME.create, 0, createFields(engine, request)));
    const context = { client, runtime, kill, envVars: {} };
    const options = { timeoutMs: FIRST_EXEC_MS_MAX, outputBytesMax: 1_024 };
    const first = await startCommand(context, ["/bin/true"], options).result;
    refuseCancelled(signal);
    if (first.exitCode !== 0)
      throw new Failure(
        "sandbox_unavailable",
        `Sandbox ${sandboxId} was made, but its first command ended as ${first.verdict} (${first.startError ?? first.exitCode}).`,
      );
    return { client, kill };
  } catch (error) {
    kill();
    await client.gone;
    refuseCancelled(signal);
    const said = stream.errorText.trim();
    if (said === "" && error instanceof Failure && error.code === "sandbox_unavailable") throw error;
    const why = said === "" ? String(error) : said;
    throw new Failure("sandbox_unavailable", `Sandbox ${sandboxId} could not be made: ${why}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

/** The descriptors after standard error are those `bwrap-arguments.ts` and the agent know by number. */
async function startBwrap(engine: BwrapEngine, request: SandboxRequest): Promise<ChildProcess> {
  const { program, ids, root, bundle, namespaces } = engine;
  const cores = coresOf(request.limits.cpus);
  const opened: number[] = [];
  try {
    for (const [name, text] of [
      [`memory ${request.limits.memoryBytes}`, () => meminfo(request.limits.memoryBytes)],
      [`processors ${cores}`, () => cpuinfo(cores)],
      ...CORES_FDS.map(() => [`cores ${cores}`, () => coreList(cores)] as const),
    ] as const) {
      opened.push(reopen(viewOf(engine, name, text)));
    }
    const namespace = await namespaces.take();
    const hasNamespace = namespace !== null;
    if (hasNamespace) opened.push(namespace);
    return spawn(program, bwrapArguments({ limits: request.limits, cores, root, hasNamespace }), {
      ...spawnIds(ids),
      env: {},
      cwd: "/",
      stdio: ["pipe", "pipe", "pipe", bundle, "pipe", ...opened],
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure("sandbox_unavailable", `bwrap could not be started: ${String(cause)}`, { cause });
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** The newest are kept; a live sandbox has what it was given. */
function viewOf({ runtime, views }: BwrapEngine, name: string, text: () => string): number {
  const known = views.get(name);
  if (known !== undefined) return known;
  const [oldest] = views;
  if (views.size >= VIEWS_MAX && oldest !== undefined) {
    closeSync(oldest[1]);
    views.delete(oldest[0]);
  }
  const made = namelessFile(runtime, Buffer.from(text()));
  views.set(name, made);
  return made;
}

function createFields(engine: BwrapEngine, { limits, seccomp }: SandboxRequest): Buffer {
  const cores = coresOf(limits.cpus);
  const fields = {
    memory: limits.memoryBytes,
    processes: limits.processesMax,
    cores,
    first: engine.nextCore,
    ids: engine.ids.kind,
    seccomp: seccomp ?? "default",
  };
  engine.nextCore = (engine.nextCore + cores) % 4_096;
  const text = Object.entries(fields).map(([name, value]) => `${name}=${value}\0`);
  return Buffer.from(text.join(""));
}

/** Ends PID 1 by the number bwrap tells, and everything with it; bwrap ends by itself once that is gone. */
function killer(runtime: Runtime, child: ChildProcess): () => void {
  let firstPid = 0;
  let isWanted = false;
  let isOver = false;
  let said = "";
  const end = (pid: number): void => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      /* Of another user's ids, or gone: the end of its channel ends it too. */
      child.stdin?.destroy();
    }
  };
  const status = child.stdio[4] as Readable;
  status.on("error", () => undefined);
  status.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-1_024);
    firstPid ||= Number(/"child-pid":\s*(\d+)/.exec(said)?.[1] ?? 0);
    if (isWanted && firstPid > 0 && !isOver) end(firstPid);
  });
  child.once("exit", () => {
    isOver = true;
  });
  return () => {
    if (isWanted || isOver) return;
    isWanted = true;
    if (firstPid > 0) end(firstPid);
    else child.stdin?.destroy();
    runtime.timer(KILL_MS_MAX, () => {
      if (!isOver) child.kill("SIGKILL");
    });
  };
}

function refuseCancelled(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Failure("cancelled", "The creation of a sandbox was cancelled.", { cause: signal.reason });
}
