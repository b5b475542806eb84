/**
 * Speed of sandboxes: cold create to first answered command, round trip of a no-op command, creations per second with 16
 * in flight, memory of an idle one. Failures count as failures. Runs by itself: `node bench/sandbox.ts`.
 */
import { readFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../src/core/sandbox.ts";
import { systemRuntime } from "../src/runtime/system.ts";
import { namespaceProvider } from "../src/sandbox/provider-namespace.ts";

const CREATES = 150;
const EXECS = 1_000;
const SUSTAINED = 300;
const IN_FLIGHT = 16;
const IDLE = 64;

export interface Quantity {
  readonly name: string;
  readonly unit: string;
  readonly repetitions: number;
  readonly failures: number;
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
}

export interface SandboxBench {
  readonly machine: { readonly cores: number; readonly kernel: string; readonly node: string };
  readonly loadAverageBefore: readonly number[];
  readonly loadAverageAfter: readonly number[];
  readonly quantities: readonly Quantity[];
  readonly createsPerSecond: { readonly inFlight: number; readonly repetitions: number; readonly perSecond: number };
  /** From MemAvailable around `sandboxes` idle ones: noisy on a busy machine, complete on a quiet one. */
  readonly idleBytesPerSandbox: { readonly sandboxes: number; readonly bytes: number };
}

const REQUEST: SandboxRequest = {
  attemptId: "bench",
  role: "agent",
  fence: 1,
  image: "host",
  isolationMin: "namespace",
  limits: {
    cpus: 2,
    memoryBytes: 256 << 20,
    diskBytes: 64 << 20,
    filesMax: 10_000,
    processesMax: 64,
    shmBytes: 8 << 20,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 600_000,
};

export async function run(): Promise<SandboxBench> {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const loadAverageBefore = loadavg();
    const quantities = [
      await creates(provider),
      await destroys(provider),
      await execs(provider, "exec of /bin/true", ["/bin/true"]),
      await execs(provider, "exec of sh -c true", "true"),
      await pythonStarts(provider),
    ];
    const result: SandboxBench = {
      machine: { cores: cpus().length, kernel: release(), node: process.version },
      loadAverageBefore,
      quantities,
      createsPerSecond: await sustained(provider),
      idleBytesPerSandbox: await idle(provider),
      loadAverageAfter: loadavg(),
    };
    print(result);
    return result;
  } finally {
    await provider.close();
  }
}

function create(provider: SandboxProvider): Promise<Sandbox> {
  return provider.create(REQUEST, new AbortController().signal);
}

/** Times `once` so many times; what it throws is a failure, not a missing sample. */
async function measure(name: string, repetitions: number, once: () => Promise<number>): Promise<Quantity> {
  const times: number[] = [];
  let failures = 0;
  for (let index = 0; index < repetitions; index += 1) {
    try {
      times.push(await once());
    } catch {
      failures += 1;
    }
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { name, unit: "ms", repetitions, failures, min: at(0), p50: at(0.5), p99: at(0.99) };
}

async function creates(provider: SandboxProvider): Promise<Quantity> {
  await (await create(provider)).destroy();
  return measure("create to first exec answered", CREATES, async () => {
    const started = performance.now();
    const sandbox = await create(provider);
    const taken = performance.now() - started;
    await sandbox.destroy();
    return taken;
  });
}

function destroys(provider: SandboxProvider): Promise<Quantity> {
  return measure("destroy until nothing is left", CREATES, async () => {
    const sandbox = await create(provider);
    const started = performance.now();
    await sandbox.destroy();
    return performance.now() - started;
  });
}

async function execs(provider: SandboxProvider, name: string, command: string | readonly string[]): Promise<Quantity> {
  const sandbox = await create(provider);
  const quantity = await measure(name, EXECS, async () => {
    const started = performance.now();
    const result = await sandbox.exec(command, { timeoutMs: 10_000, outputBytesMax: 1_024 });
    if (result.exitCode !== 0) throw new Error(result.verdict);
    return performance.now() - started;
  });
  await sandbox.destroy();
  return quantity;
}

function pythonStarts(provider: SandboxProvider): Promise<Quantity> {
  return measure("create, python3 -c pass, destroy", CREATES / 3, async () => {
    const started = performance.now();
    const sandbox = await create(provider);
    const result = await sandbox.exec(["python3", "-c", "pass"], { timeoutMs: 10_000, outputBytesMax: 1_024 });
    await sandbox.destroy();
    if (result.exitCode !== 0) throw new Error(result.verdict);
    return performance.now() - started;
  });
}

async function sustained(provider: SandboxProvider): Promise<SandboxBench["createsPerSecond"]> {
  let left = SUSTAINED;
  const started = performance.now();
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await (await create(provider)).destroy();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const perSecond = SUSTAINED / ((performance.now() - started) / 1_000);
  return { inFlight: IN_FLIGHT, repetitions: SUSTAINED, perSecond };
}

function availableBytes(): number {
  return Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? 0) * 1_024;
}

async function idle(provider: SandboxProvider): Promise<SandboxBench["idleBytesPerSandbox"]> {
  const before = availableBytes();
  const sandboxes: Sandbox[] = [];
  for (let index = 0; index < IDLE; index += 1) sandboxes.push(await create(provider));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const bytes = Math.round((before - availableBytes()) / IDLE);
  await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  return { sandboxes: IDLE, bytes };
}

function print(result: SandboxBench): void {
  const row = (cells: readonly string[]): string =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(36) : cell.padStart(11))).join("");
  const { machine, createsPerSecond, idleBytesPerSandbox } = result;
  console.log(
    `${machine.cores} cores, Linux ${machine.kernel}, Node ${machine.node}, load average ` +
      `${result.loadAverageBefore.map((load) => load.toFixed(2)).join(" ")}`,
  );
  console.log(row(["", "min ms", "p50 ms", "p99 ms", "runs", "failed"]));
  for (const each of result.quantities) {
    const times = [each.min, each.p50, each.p99].map((value) => value.toFixed(2));
    console.log(row([each.name, ...times, String(each.repetitions), String(each.failures)]));
  }
  console.log(
    `create and destroy, ${createsPerSecond.inFlight} in flight: ${createsPerSecond.perSecond.toFixed(0)}/s ` +
      `(${createsPerSecond.repetitions} runs)`,
  );
  console.log(
    `memory of an idle sandbox: ${(idleBytesPerSandbox.bytes / 1_024).toFixed(0)} KiB ` +
      `(mean of ${idleBytesPerSandbox.sandboxes})`,
  );
}

if (import.meta.main) console.log(JSON.stringify(await run()));
