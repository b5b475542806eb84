/**
 * The cycles of the soak: one sandbox each from its creation to an end drawn by chance, among them ends from outside:
 * its agent killed, its helper killed, its host program killed. A cycle may end in a named failure of the machine; what
 * was asked of a sandbox that lives must be right, and everything else is an error.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Failure } from "../../src/core/errors.ts";
import type { Sandbox, SandboxProvider } from "../../src/core/sandbox.ts";
import { OPTIONS, output, REQUEST } from "../conformance/sandbox-parts.ts";
import { NEVER } from "./abuse-parts.ts";

/** Kinds of cycles with their weights. */
const KINDS = {
  "used and destroyed": 30,
  "left background processes": 15,
  "destroyed during a command": 12,
  "creation aborted": 10,
  "agent killed from the host": 10,
  "command timed out": 6,
  "wrote and read files": 6,
  "snapshot, fork and reset": 4,
  "lifetime ended": 4,
  "all ended by the provider": 1,
  "helper killed": 1,
  "host program killed": 1,
} as const;

export type CycleKind = keyof typeof KINDS;

/** What a kill from outside may make of another lane's sandbox. */
const MACHINE_CODES = ["sandbox_lost", "sandbox_unavailable", "sandbox_destroyed", "sandbox_killed", "cancelled"];

export interface SoakContext {
  readonly provider: SandboxProvider;
  readonly imageFolder: string;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The same numbers for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function drawKind(random: () => number): CycleKind {
  const entries = Object.entries(KINDS) as [CycleKind, number][];
  let left = random() * entries.reduce((total, [, weight]) => total + weight, 0);
  for (const [kind, weight] of entries) {
    left -= weight;
    if (left < 0) return kind;
  }
  return "used and destroyed";
}

/** Gives `well`, or the code of the named failure it ended in. Throws for anything else. */
export async function runCycle(kind: CycleKind, context: SoakContext): Promise<string> {
  try {
    await CYCLES[kind](context);
    return "well";
  } catch (error) {
    if (error instanceof Failure && MACHINE_CODES.includes(error.code)) return error.code;
    throw new Error(`A cycle "${kind}" went wrong`, { cause: error });
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs `use` in a fresh sandbox, destroys it, and proves that it is off the list. */
async function inSandbox(
  context: SoakContext,
  use: (sandbox: Sandbox) => Promise<void>,
  lifetimeMs = 120_000,
): Promise<void> {
  const sandbox = await context.provider.create({ ...REQUEST, lifetimeMs }, NEVER);
  try {
    await use(sandbox);
  } finally {
    await sandbox.destroy();
  }
  const listed = (await context.provider.list()).some(({ id }) => id === sandbox.id);
  if (listed) throw new Error(`Sandbox ${sandbox.id} is still listed after its end.`);
}

/** Writes so much that a layer left behind would soon show in the machine's shared memory. */
async function work(sandbox: Sandbox): Promise<void> {
  const script =
    "head -c 262144 /dev/urandom > /tmp/noise; head -c 65536 /dev/zero > /dev/shm/noise; wc -c < /tmp/noise";
  const counted = await output(sandbox, script);
  if (counted !== "262144\n") throw new Error(`The command answered ${JSON.stringify(counted)}.`);
}

const CYCLES: Readonly<Record<CycleKind, (context: SoakContext) => Promise<void>>> = {
  "used and destroyed": (context) => inSandbox(context, work),
  "left background processes": (context) =>
    inSandbox(context, async (sandbox) => {
      await work(sandbox);
      await output(
        sandbox,
        "for i in 1 2 3; do (trap '' TERM HUP; setsid sleep 982 &) & done; (while :; do :; done) & true",
      );
    }),
  "destroyed during a command": (context) =>
    inSandbox(context, async (sandbox) => {
      const open = ["yes", "sleep 982", "while :; do :; done", "head -c 100M /dev/zero"].map((command) =>
        sandbox.exec(command, { ...OPTIONS, outputBytesMax: 1_000 }).catch(expectMachine),
      );
      await pause(context.random() * 20);
      await sandbox.destroy();
      await Promise.all(open);
    }),
  "creation aborted": async (context) => {
    const controller = new AbortController();
    const creating = context.provider.create(REQUEST, controller.signal).then((sandbox) => sandbox.destroy());
    const settled = creating.catch(expectMachine);
    await pause(context.random() * 12);
    controller.abort();
    await settled;
  },
  "agent killed from the host": (context) =>
    inSandbox(context, async (sandbox) => {
      await work(sandbox);
      const space = (await output(sandbox, "readlink /proc/self/ns/net")).trim();
      const running = sandbox.exec("sleep 982", OPTIONS).catch(expectMachine);
      const agents = agentsIn(space);
      /* Another lane may have killed the helper, and with it this agent. */
      if (agents.length === 0) throw new Failure("sandbox_lost", `No agent is in ${space} any more.`);
      for (const pid of agents) kill(pid);
      await running;
    }),
  "command timed out": (context) =>
    inSandbox(context, async (sandbox) => {
      const options = { ...OPTIONS, timeoutMs: 30, killGraceMs: 10 };
      const { verdict } = await sandbox.exec("trap '' TERM; setsid sleep 982 & while :; do sleep 0.01; done", options);
      if (verdict !== "timed_out") throw new Error(`A command past its limit ended as ${verdict}.`);
    }),
  "wrote and read files": (context) =>
    inSandbox(context, async ({ files }) => {
      const bytes = Buffer.alloc(1 << 20, 7);
      const written = await files.write({ path: "/app/a/b", bytes, mode: 0o600 });
      const read = await files.read("/app/a/b", { bytesMax: bytes.length });
      if (!written.ok || !read.ok || !bytes.equals(read.value)) throw new Error("A file came back changed.");
    }),
  "snapshot, fork and reset": (context) =>
    inSandbox(context, async (sandbox) => {
      if (context.provider.capabilities.snapshot === "none") return work(sandbox);
      await output(sandbox, "echo base > /tmp/base");
      const { id } = await sandbox.snapshot();
      const forks = await sandbox.fork(2);
      try {
        for (const fork of forks)
          if ((await output(fork, "cat /tmp/base")) !== "base\n") throw new Error("A fork lacks its parent's file.");
      } finally {
        for (const fork of forks) await fork.destroy();
      }
      await output(sandbox, "rm /tmp/base");
      await sandbox.reset(id);
      if ((await output(sandbox, "cat /tmp/base")) !== "base\n") throw new Error("A reset lost the snapshot's file.");
    }),
  "lifetime ended": (context) =>
    inSandbox(
      context,
      async (sandbox) => {
        await sandbox.exec("sleep 982", OPTIONS).catch(expectMachine);
      },
      80,
    ),
  "all ended by the provider": async ({ provider }) => {
    const made = await Promise.all([1, 2, 3].map(() => provider.create(REQUEST, NEVER)));
    await Promise.all(made.map(({ id }) => provider.destroy(id)));
  },
  "helper killed": (context) =>
    inSandbox(context, async (sandbox) => {
      await work(sandbox);
      const running = sandbox.exec("sleep 982", OPTIONS).catch(expectMachine);
      for (const pid of helpersOf(process.pid)) kill(pid);
      await running;
    }),
  "host program killed": async (context) => {
    const program = fileURLToPath(new URL("./host-program.ts", import.meta.url));
    const child = spawn(process.execPath, [program, context.imageFolder, "0", "soak"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    await pause(context.random() * 400);
    child.kill("SIGKILL");
    await exited;
  },
};

function expectMachine(error: unknown): void {
  if (!(error instanceof Failure) || !MACHINE_CODES.includes(error.code)) throw error;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function processes(isWanted: (pid: string) => boolean): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && isWanted(entry))
    .map(Number);
}

/** The first process of the sandbox with this network namespace, by the host's process id. */
function agentsIn(space: string): number[] {
  return processes((pid) => text(`/proc/${pid}/comm`) === "sandlot-agent\n" && link(`/proc/${pid}/ns/net`) === space);
}

export function helpersOf(owner: number): number[] {
  return processes((pid) => {
    const stat = text(`/proc/${pid}/stat`);
    return stat.includes("(sandlot-zygote)") && stat.split(") ").pop()?.split(" ")[1] === String(owner);
  });
}
