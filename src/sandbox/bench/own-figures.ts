/**
 * Figures that only our own layer has: warm claims, forks, resets, ends of stubborn trees, throughput over many sandboxes,
 * memory of idle ones, and a burst of claims that the pool grows for and shrinks after.
 */
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../../core/sandbox.ts";
import type { SandboxPool } from "../../core/sandbox-pool.ts";
import { hostMemory } from "../host-memory.ts";
import { sandboxPool } from "../pool.ts";
import { execNothing } from "./contender.ts";
import { interleaved, percentiles, type Quantity, spread } from "./measure.ts";

const EXEC = { timeoutMs: 60_000, outputBytesMax: 65_536 };
const NEVER = new AbortController().signal;
const DIRTY_FILES = 1_000;
const STUBBORN = 200;

/** A number that is no time of one call. */
export interface Figure {
  readonly name: string;
  readonly contender: string;
  readonly value: number | null;
  readonly unit: string;
  /** How it came about: repetitions, in flight, failures. */
  readonly note: string;
}

/** What one provider alone was measured with. */
export interface OwnFigures {
  readonly quantities: readonly Quantity[];
  readonly figures: readonly Figure[];
}

/** Which provider is measured, and how long. */
export interface OwnBench {
  readonly runtime: Runtime;
  /** What the provider is called in the table. */
  readonly name: string;
  readonly provider: SandboxProvider;
  readonly request: SandboxRequest;
  /** Multiplies every count; 1 is what is published. */
  readonly scale: number;
  readonly cores: number;
}

/** Every sandbox it made is gone when it resolves. */
export async function ownFigures(bench: OwnBench): Promise<OwnFigures> {
  const quantities: Quantity[] = [];
  const figures: Figure[] = [];
  quantities.push(...(await warmClaims(bench)));
  quantities.push(...(await destroys(bench)));
  if (bench.provider.capabilities.snapshot !== "none") quantities.push(...(await forksAndResets(bench)));
  quantities.push(...(await stubbornTrees(bench)));
  figures.push(await sustained(bench), await throughput(bench), await idleMemory(bench));
  figures.push(...(await burst(bench)));
  return { quantities, figures };
}

const count = (bench: OwnBench, full: number): number => Math.max(2, Math.round(full * bench.scale));

function make(bench: OwnBench): Promise<Sandbox> {
  return bench.provider.create(bench.request, NEVER);
}

async function withPool<T>(
  { runtime, provider, cores }: OwnBench,
  sizes: { readonly lentMax: number; readonly readyMax: number; readonly coolDownMs?: number },
  use: (pool: SandboxPool) => Promise<T>,
): Promise<T> {
  /* Most sandboxes of a benchmark never use what they may; the floor of memory really free still holds. */
  const pool = sandboxPool({ provider, runtime, creatingMax: cores, overcommit: 1_000, ...sizes });
  try {
    return await use(pool);
  } finally {
    await pool.drain();
  }
}

/** From the claim of a ready sandbox to its first answered command. */
function warmClaims(bench: OwnBench): Promise<Quantity[]> {
  const { runtime, request, provider } = bench;
  return withPool(bench, { lentMax: 4, readyMax: 4 }, async (pool) => {
    const { image, isolationMin, limits } = request;
    if (provider.adopt !== undefined) await pool.prewarm({ image, isolationMin, limits, seccomp: "default" }, 4);
    else await (await pool.claim(request, NEVER)).destroy();
    return interleaved(runtime, "claim of a ready one to first exec", count(bench, 200), {
      [bench.name]: async () => {
        while (pool.stats().ready === 0) await runtime.sleep(2);
        const startedAt = runtime.monotonic();
        const lease = await pool.claim(request, NEVER);
        await execNothing(lease);
        const taken = runtime.monotonic() - startedAt;
        await lease.destroy();
        if (lease.claimPath !== "ready")
          throw new Failure("unexpected", "The claim was not served by a ready sandbox.");
        return taken;
      },
    });
  });
}

function destroys(bench: OwnBench): Promise<Quantity[]> {
  const { runtime } = bench;
  return interleaved(runtime, "destroy until nothing is left", count(bench, 100), {
    [bench.name]: async () => {
      const sandbox = await make(bench);
      const startedAt = runtime.monotonic();
      await sandbox.destroy();
      return runtime.monotonic() - startedAt;
    },
  });
}

async function dirty(sandbox: Sandbox): Promise<void> {
  const script = `mkdir -p /tmp/d && cd /tmp/d && i=0; while [ $i -lt ${DIRTY_FILES} ]; do echo $i > f$i; i=$((i+1)); done`;
  const result = await sandbox.exec(script, EXEC);
  if (result.exitCode !== 0)
    throw new Failure("unexpected", `Writing ${DIRTY_FILES} files ended as ${result.verdict}.`);
}

/** The fork's own sandbox is a cold create; what the fork adds to it is the second quantity. */
async function forksAndResets(bench: OwnBench): Promise<Quantity[]> {
  const { runtime } = bench;
  return interleaved(runtime, `with ${DIRTY_FILES} changed files`, count(bench, 40), {
    [`${bench.name}: fork(1), parent and child answering`]: async () => {
      const sandbox = await make(bench);
      await dirty(sandbox);
      const startedAt = runtime.monotonic();
      const forks = await sandbox.fork(1);
      const taken = runtime.monotonic() - startedAt;
      await Promise.all([sandbox, ...forks].map((each) => each.destroy()));
      return taken;
    },
    [`${bench.name}: snapshot, handle answering`]: async () => {
      const sandbox = await make(bench);
      await dirty(sandbox);
      const startedAt = runtime.monotonic();
      await sandbox.snapshot();
      const taken = runtime.monotonic() - startedAt;
      await sandbox.destroy();
      return taken;
    },
    [`${bench.name}: reset, handle answering`]: async () => {
      const sandbox = await make(bench);
      await dirty(sandbox);
      const startedAt = runtime.monotonic();
      await sandbox.reset();
      const taken = runtime.monotonic() - startedAt;
      await sandbox.destroy();
      return taken;
    },
    [`${bench.name}: cold create beside them`]: async () => {
      const startedAt = runtime.monotonic();
      const sandbox = await make(bench);
      const taken = runtime.monotonic() - startedAt;
      await sandbox.destroy();
      return taken;
    },
  });
}

/** How long after its deadline a command of 200 processes that ignore TERM is really over. */
async function stubbornTrees(bench: OwnBench): Promise<Quantity[]> {
  const { runtime } = bench;
  const timeoutMs = 1_500;
  const killGraceMs = 100;
  const script = `trap '' TERM; i=0; while [ $i -lt ${STUBBORN} ]; do (trap '' TERM; while :; do sleep 600; done) & i=$((i+1)); done; wait`;
  return interleaved(runtime, `end of ${STUBBORN} TERM-ignoring processes after deadline and grace`, count(bench, 10), {
    [bench.name]: async () => {
      const limits = { ...bench.request.limits, processesMax: 3 * STUBBORN };
      const sandbox = await bench.provider.create({ ...bench.request, limits }, NEVER);
      try {
        const startedAt = runtime.monotonic();
        const result = await sandbox.exec(script, { ...EXEC, timeoutMs, killGraceMs });
        const overMs = runtime.monotonic() - startedAt - timeoutMs - killGraceMs;
        if (!result.timedOut) throw new Failure("unexpected", `The tree ended as ${result.verdict}.`);
        return overMs;
      } finally {
        await sandbox.destroy();
      }
    },
  });
}

async function sustained(bench: OwnBench): Promise<Figure> {
  const { runtime } = bench;
  const total = count(bench, 400);
  const inFlight = 16;
  let failures = 0;
  const startedAt = runtime.monotonic();
  await spread(total, inFlight, async () => {
    try {
      await (await make(bench)).destroy();
    } catch {
      failures += 1;
    }
  });
  const value = (total - failures) / ((runtime.monotonic() - startedAt) / 1_000);
  const note = `${total} runs, ${inFlight} in flight, ${failures} failed`;
  return { name: "create and destroy", contender: bench.name, value, unit: "per s", note };
}

async function many(bench: OwnBench, total: number): Promise<Sandbox[]> {
  const sandboxes: Sandbox[] = [];
  await spread(total, 16, async () => {
    const sandbox = await make(bench).catch(() => null);
    if (sandbox !== null) sandboxes.push(sandbox);
  });
  return sandboxes;
}

async function throughput(bench: OwnBench): Promise<Figure> {
  const { runtime } = bench;
  const sandboxes = await many(bench, count(bench, 1_000));
  const total = sandboxes.length * 4;
  let failures = 0;
  try {
    const startedAt = runtime.monotonic();
    await spread(total, 64, async (index) => {
      const sandbox = sandboxes[index % sandboxes.length];
      await (sandbox === undefined ? Promise.reject(new Error("none")) : execNothing(sandbox)).catch(
        () => (failures += 1),
      );
    });
    const value = (total - failures) / ((runtime.monotonic() - startedAt) / 1_000);
    const note = `${total} execs over ${sandboxes.length} sandboxes, 64 in flight, ${failures} failed`;
    return { name: "exec over many sandboxes", contender: bench.name, value, unit: "per s", note };
  } finally {
    await spread(sandboxes.length, 32, async (index) => sandboxes[index]?.destroy());
  }
}

/** From MemAvailable around idle ones: noisy on a busy machine, complete on a quiet one. */
async function idleMemory(bench: OwnBench): Promise<Figure> {
  const { runtime } = bench;
  const before = hostMemory().availableBytes;
  const sandboxes = await many(bench, count(bench, 2_000));
  await runtime.sleep(500);
  const value = (before - hostMemory().availableBytes) / sandboxes.length / 1_024;
  await spread(sandboxes.length, 32, async (index) => sandboxes[index]?.destroy());
  return {
    name: "memory of an idle one",
    contender: bench.name,
    value,
    unit: "KiB",
    note: `mean of ${sandboxes.length}`,
  };
}

/** Nothing, a thousand claims at once, nothing again. */
function burst(bench: OwnBench): Promise<Figure[]> {
  const { runtime, request } = bench;
  const claims = count(bench, 1_000);
  return withPool(bench, { lentMax: claims, readyMax: 64, coolDownMs: 1_000 }, async (pool) => {
    const waits: number[] = [];
    let failures = 0;
    const startedAt = runtime.monotonic();
    const leases = await Promise.all(
      Array.from({ length: claims }, async () => {
        try {
          const lease = await pool.claim(request, NEVER);
          await execNothing(lease);
          waits.push(runtime.monotonic() - startedAt);
          return lease;
        } catch {
          failures += 1;
          return null;
        }
      }),
    );
    const servedMs = runtime.monotonic() - startedAt;
    await spread(leases.length, 32, async (index) => leases[index]?.destroy());
    while (pool.stats().ready + pool.stats().lent + pool.stats().creating > 0) await runtime.sleep(20);
    const backMs = runtime.monotonic() - startedAt;
    const { p50, p99 } = percentiles(waits);
    const row = (name: string, value: number | null): Figure => ({
      name: `burst 0 to ${claims} to 0: ${name}`,
      contender: bench.name,
      value,
      unit: "ms",
      note: `${failures} failed`,
    });
    return [
      row("first exec answered, p50", p50),
      row("first exec answered, p99", p99),
      row("all served", servedMs),
      row("nothing left again", backMs),
    ];
  });
}
