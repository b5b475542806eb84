/** The pool's promises: fresh sandboxes only, a ceiling that holds, waiters in order, nothing left after a drain. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import { Failure } from "../core/errors.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import type { PoolShape, SandboxPool } from "../core/sandbox-pool.ts";
import { systemRuntime } from "../runtime/system.ts";
import { type FakeSandboxOptions, fakeProvider } from "./fake-sandbox.ts";
import { type SandboxPoolOptions, sandboxPool } from "./pool.ts";
import { poolEndings } from "./pool-endings.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const REQUEST = smallRequest({
  isolationMin: "process",
  limits: { cpus: 1, diskBytes: 16 << 20, filesMax: 1_000, processesMax: 32 },
  lifetimeMs: 60_000,
});
const SHAPE: PoolShape = {
  image: REQUEST.image,
  isolationMin: REQUEST.isolationMin,
  limits: REQUEST.limits,
  seccomp: "default",
};
const NEVER = new AbortController().signal;
const runtime = systemRuntime();
const pools: SandboxPool[] = [];

function fakePool(options: FakeSandboxOptions = {}, sizes: Partial<SandboxPoolOptions> = {}) {
  const provider = fakeProvider(options);
  const pool = sandboxPool({ provider, runtime, lentMax: 2, creatingMax: 2, readyMax: 0, ...sizes });
  pools.push(pool);
  return { provider, pool };
}

/** One whose ready sandboxes serve any request of their shape. */
function adopting(): SandboxProvider {
  return { ...fakeProvider(), adopt: async (sandbox) => sandbox };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_000 && !isTrue(); tries += 1) await runtime.sleep(5);
  expect(isTrue()).toBe(true);
}

afterEach(async () => {
  for (const pool of pools.splice(0)) {
    await pool.drain();
    const { ready, creating, lent, created, destroyed } = pool.stats();
    expect({ ready, creating, lent, alive: created - destroyed }).toEqual({ ready: 0, creating: 0, lent: 0, alive: 0 });
  }
});

test("a lent sandbox is destroyed when its use ends, also when the use throws", async () => {
  const { pool, provider } = fakePool();
  expect(await pool.withSandbox(REQUEST, NEVER, async (sandbox) => sandbox.id)).toBe("fake-1");
  await expect(
    pool.withSandbox(REQUEST, NEVER, async () => {
      throw new Error("the use failed");
    }),
  ).rejects.toThrow("the use failed");
  expect(await provider.list()).toEqual([]);
  expect(pool.stats()).toMatchObject({ created: 2, destroyed: 2, lent: 0 });
});

test("no sandbox is lent twice, with and without ready ones", async () => {
  for (const readyMax of [0, 2]) {
    const { pool } = fakePool({}, { readyMax });
    const ids = new Set<string>();
    for (let round = 0; round < 10; round += 1) await pool.withSandbox(REQUEST, NEVER, async ({ id }) => ids.add(id));
    expect(ids.size).toBe(10);
  }
});

test("a full pool makes claims wait, and serves them in the order they came", async () => {
  const { pool } = fakePool();
  const first = [await pool.claim(REQUEST, NEVER), await pool.claim(REQUEST, NEVER)];
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (number): Promise<Sandbox> => {
    const sandbox = await pool.claim(REQUEST, NEVER);
    order.push(number);
    await sandbox.destroy();
    return sandbox;
  });
  await runtime.sleep(10);
  expect([order, pool.stats().lent]).toEqual([[], 2]);
  await Promise.all(first.map((sandbox) => sandbox.destroy()));
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
});

test("a waiting claim can be given up without losing its place to nobody", async () => {
  const { pool } = fakePool({}, { lentMax: 1 });
  const lent = await pool.claim(REQUEST, NEVER);
  const controller = new AbortController();
  const given = pool.claim(REQUEST, controller.signal);
  const patient = pool.claim(REQUEST, NEVER);
  controller.abort();
  await expect(given).rejects.toMatchObject({ code: "cancelled" });
  await lent.destroy();
  await (await patient).destroy();
});

test("ready sandboxes are made in the background, per shape, and taken first", async () => {
  const { pool } = fakePool({}, { readyMax: 4 });
  await pool.withSandbox(REQUEST, NEVER, async () => undefined);
  await until(() => pool.stats().ready === 1);
  const other = { ...REQUEST, limits: { ...REQUEST.limits, cpus: 2 } };
  await pool.withSandbox(other, NEVER, async ({ info }) => expect(info.limits.cpus).toBe(2));
  await until(() => pool.stats().ready === 2);
  const created = pool.stats().created;
  await pool.withSandbox(REQUEST, NEVER, async ({ id }) => expect(id).toBe("fake-2"));
  await until(() => pool.stats().created > created);
  expect(pool.stats().claimsByPath).toEqual({ cold: 2, ready: 1 });
});

test("a burst of claims is answered by a pool that grows with it, and shrinks to nothing when they stop", async () => {
  const { pool } = fakePool({}, { lentMax: 50, readyMax: 12, coolDownMs: 400 });
  const leases = await Promise.all(Array.from({ length: 40 }, () => pool.claim(REQUEST, NEVER)));
  await until(() => pool.stats().ready === 12);
  expect(pool.stats()).toMatchObject({ lent: 40, target: 12, waiting: 0 });
  await Promise.all(leases.map((lease) => lease.destroy()));
  await until(() => pool.stats().ready === 0 && pool.stats().draining === 0);
  expect(pool.stats()).toMatchObject({ lent: 0, target: 0, created: 52, destroyed: 52 });
});

test("a prewarmed shape is ready before the first claim and stays so without any", async () => {
  const { pool } = fakePool({}, { provider: adopting(), readyMax: 3, coolDownMs: 50 });
  await pool.prewarm(SHAPE, 3);
  expect(pool.stats()).toMatchObject({ ready: 3, target: 3 });
  await runtime.sleep(150);
  expect(pool.stats().ready).toBe(3);
  await pool.withSandbox(REQUEST, NEVER, async () => undefined);
  expect(pool.stats().claimsByPath).toEqual({ ready: 1, cold: 0 });
});

test("what can never be ready is refused at once, instead of being waited for", async () => {
  const { pool } = fakePool({}, { provider: adopting(), readyMax: 3 });
  await expect(pool.prewarm(SHAPE, 4)).rejects.toThrow("sandbox.readyMax");
  await pool.prewarm(SHAPE, 2);
  const other = { ...SHAPE, seccomp: "strict" } as const;
  await expect(pool.prewarm(other, 2)).rejects.toMatchObject({ code: "request_invalid" });
  await pool.prewarm(other, 1);
  expect(pool.stats().ready).toBe(3);
  const { pool: perRequest } = fakePool({}, { readyMax: 3 });
  await expect(perRequest.prewarm(SHAPE, 1)).rejects.toMatchObject({ code: "unsupported" });
  await pool.drain();
  await expect(pool.prewarm(SHAPE, 1)).rejects.toMatchObject({ code: "sandbox_unavailable" });
});

test("a prewarmed shape gets its place from one that is kept for its demand alone", async () => {
  const { pool } = fakePool({}, { provider: adopting(), lentMax: 9, readyMax: 3, coolDownMs: 60_000 });
  const leases = await Promise.all(Array.from({ length: 6 }, () => pool.claim(REQUEST, NEVER)));
  await until(() => pool.stats().ready === 3);
  await Promise.all(leases.map((lease) => lease.destroy()));
  await pool.prewarm({ ...SHAPE, seccomp: "strict" }, 2);
  expect(pool.stats()).toMatchObject({ ready: 3, target: 3 });
});

test("of those that wait the higher priority is served first, and within one the earlier", async () => {
  const { pool } = fakePool({}, { lentMax: 1 });
  const lent = await pool.claim(REQUEST, NEVER);
  const order: string[] = [];
  const waiting = (
    [
      ["low", 0],
      ["high", 5],
      ["low too", 0],
      ["high too", 5],
    ] as const
  ).map(async ([name, priority]) => {
    const lease = await pool.claim(REQUEST, NEVER, { priority });
    order.push(name);
    await lease.destroy();
  });
  await lent.destroy();
  await Promise.all(waiting);
  expect(order).toEqual(["high", "high too", "low", "low too"]);
});

test("no more memory is promised than the pool may promise, and what could never fit is refused at once", async () => {
  const each = REQUEST.limits.memoryBytes + REQUEST.limits.diskBytes + REQUEST.limits.shmBytes;
  const { pool } = fakePool({}, { lentMax: 10, memoryBytes: 2 * each });
  const leases = [await pool.claim(REQUEST, NEVER), await pool.claim(REQUEST, NEVER)];
  const third = pool.claim(REQUEST, NEVER);
  await runtime.sleep(20);
  expect(pool.stats()).toMatchObject({ lent: 2, waiting: 1 });
  await leases[0]?.destroy();
  await (await third).destroy();
  await leases[1]?.destroy();
  const huge = { ...REQUEST, limits: { ...REQUEST.limits, memoryBytes: 4 * each } };
  await expect(pool.claim(huge, NEVER)).rejects.toMatchObject({ code: "request_invalid" });
});

test("claims wait while too little memory is really free, and go on when it is back", async () => {
  let availableBytes = 5;
  const { pool } = fakePool(
    {},
    { lentMax: 4, memoryBytes: 2 ** 40, memory: () => ({ totalBytes: 100, availableBytes }) },
  );
  const first = await pool.claim(REQUEST, NEVER);
  const second = pool.claim(REQUEST, NEVER);
  await runtime.sleep(100);
  expect(pool.stats()).toMatchObject({ lent: 1, waiting: 1 });
  availableBytes = 50;
  await (await second).destroy();
  await first.destroy();
});

test("an image whose creations keep failing is set aside with its evidence instead of being tried by every claim", async () => {
  const { pool } = fakePool({ createFailures: 3 }, { lentMax: 8, creatingMax: 1 });
  const claims = await Promise.allSettled(Array.from({ length: 8 }, () => pool.claim(REQUEST, NEVER)));
  expect(claims.map(({ status }) => status)).toEqual(Array(8).fill("rejected"));
  expect(pool.stats()).toMatchObject({ quarantined: 1, failuresByCode: { sandbox_unavailable: pool.stats().failed } });
  await expect(pool.claim(REQUEST, NEVER)).rejects.toThrow(/set aside for another \d+ s after 3 failures in a row/);
  const other = { ...REQUEST, limits: { ...REQUEST.limits, cpus: 2 } };
  await (await pool.claim(other, NEVER)).destroy();
  let lease: Sandbox | null = null;
  for (let tries = 0; lease === null && tries < 200; tries += 1) {
    await runtime.sleep(20);
    lease = await pool.claim(REQUEST, NEVER).catch(() => null);
  }
  expect(pool.stats().quarantined).toBe(0);
  await lease?.destroy();
});

test("a claim given up while its sandbox is being made leaves none behind", async () => {
  const { pool, provider } = fakePool({}, { lentMax: 20 });
  const controller = new AbortController();
  const claims = Array.from({ length: 20 }, () => pool.claim(REQUEST, controller.signal));
  controller.abort();
  const settled = await Promise.allSettled(claims);
  for (const each of settled) if (each.status === "fulfilled") await each.value.destroy();
  await until(() => pool.stats().creating === 0 && pool.stats().draining === 0);
  expect(await provider.list()).toEqual([]);
});

test("what nobody is responsible for is found at the provider and destroyed", async () => {
  const provider = fakeProvider({});
  const clock = systemRuntime();
  const endings = poolEndings({ ...clock, sleep: async () => undefined }, provider);
  const known = await provider.create(REQUEST, NEVER);
  endings.track(known.id);
  await provider.create({ ...REQUEST, attemptId: "orphan" }, NEVER);
  expect(await endings.sweepOrphans()).toBe(1);
  expect((await provider.list()).map(({ id }) => id)).toEqual([known.id]);
  expect(endings.stats().orphansDestroyed).toBe(1);
  await endings.destroy(known);
});

test("a sandbox whose end is not confirmed is counted apart, and asked for again until it is gone", async () => {
  const provider = fakeProvider({});
  const sandbox = await provider.create(REQUEST, NEVER);
  let refusals = 2;
  const stubborn = { ...sandbox, destroy: () => Promise.reject(new Error("the engine is away")) };
  const asked = {
    ...provider,
    destroy: async (id: string) => {
      refusals -= 1;
      if (refusals >= 0) throw new Error("still away");
      return provider.destroy(id);
    },
  };
  const patient = poolEndings(runtime, asked);
  const ending = patient.destroy(stubborn);
  await until(() => patient.stats().quarantined === 1);
  await ending;
  expect(patient.stats()).toMatchObject({ quarantined: 0, draining: 0, destroyed: 1 });
  expect(await provider.list()).toEqual([]);
});

test("a ready sandbox that died is not lent", async () => {
  const { pool, provider } = fakePool({}, { readyMax: 1 });
  await pool.withSandbox(REQUEST, NEVER, async () => undefined);
  await until(() => pool.stats().ready === 1);
  await provider.close();
  await pool.withSandbox(REQUEST, NEVER, async (sandbox) => {
    expect((await sandbox.exec("true", { timeoutMs: 1_000, outputBytesMax: 10 })).exitCode).toBe(0);
  });
});

test("a provider that is short for a moment is asked again, and one that stays short says so", async () => {
  const short = fakePool({ createFailures: 2 });
  await short.pool.withSandbox(REQUEST, NEVER, async () => undefined);
  expect(short.pool.stats()).toMatchObject({ created: 1, failed: 2 });
  const empty = fakePool({ createFailures: 100 });
  await expect(empty.pool.claim(REQUEST, NEVER)).rejects.toMatchObject({ code: "sandbox_unavailable" });
  expect(empty.pool.stats().lent).toBe(0);
});

test("a draining pool waits for the lent ones and lends no more", async () => {
  const { pool } = fakePool();
  const lent = await pool.claim(REQUEST, NEVER);
  let isDrained = false;
  const draining = pool.drain().then(() => {
    isDrained = true;
  });
  await expect(pool.claim(REQUEST, NEVER)).rejects.toMatchObject({ code: "sandbox_unavailable" });
  await runtime.sleep(10);
  expect(isDrained).toBe(false);
  await lent.destroy();
  await draining;
});

test("64. many claims at once of real sandboxes never pass the ceiling", async () => {
  const provider = namespaceProvider({ runtime });
  const pool = sandboxPool({ provider, runtime, lentMax: 8, creatingMax: 4, readyMax: 0 });
  let most = 0;
  const use = async (sandbox: Sandbox): Promise<void> => {
    most = Math.max(most, (await provider.list()).length);
    expect((await sandbox.exec("true", { timeoutMs: 30_000, outputBytesMax: 10 })).exitCode).toBe(0);
  };
  await Promise.all(Array.from({ length: 60 }, () => pool.withSandbox(REQUEST, NEVER, use)));
  expect(most).toBeLessThanOrEqual(8);
  await pool.drain();
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

test("a prewarming that cannot be served keeps no place from others, and a number that is none is refused", async () => {
  const pool = sandboxPool({ provider: adopting(), runtime, lentMax: 2, creatingMax: 2, readyMax: 2 });
  pools.push(pool);
  for (const count of [Number.NaN, -1, 1.5])
    await expect(pool.prewarm(SHAPE, count)).rejects.toMatchObject({ code: "request_invalid" });
  const failing = { ...adopting(), create: async () => Promise.reject(new Failure("isolation_too_weak", "no such")) };
  const other = sandboxPool({ provider: failing, runtime, lentMax: 2, creatingMax: 2, readyMax: 2 });
  pools.push(other);
  await expect(other.prewarm(SHAPE, 2)).rejects.toMatchObject({ code: "isolation_too_weak" });
  await expect(other.prewarm({ ...SHAPE, seccomp: "strict" }, 2)).rejects.toMatchObject({ code: "isolation_too_weak" });
});

test("forks are counted as created, so that what lives is the difference", async () => {
  const { pool } = fakePool({}, { lentMax: 3 });
  await using lent = await pool.claim(REQUEST, NEVER);
  const forks = await lent.fork(2, {});
  expect(pool.stats()).toMatchObject({ created: 3, destroyed: 0, lent: 3 });
  await Promise.all(forks.map((fork) => fork.destroy()));
});

test("a program whose claim waits out a pause after failures goes on to its end", async () => {
  const file = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    import { fakeProvider } from ${file("./fake-sandbox.ts")};
    import { sandboxPool } from ${file("./pool.ts")};
    import { Failure } from ${file("../core/errors.ts")};
    import { systemRuntime } from ${file("../runtime/system.ts")};
    const fake = fakeProvider({});
    let tries = 0;
    const create = async (...args) => {
      tries += 1;
      if (tries === 1) throw new Failure("sandbox_unavailable", "not yet");
      return fake.create(...args);
    };
    const pool = sandboxPool({ provider: { ...fake, create }, runtime: systemRuntime(), lentMax: 1, creatingMax: 1, readyMax: 0 });
    await pool.withSandbox(${JSON.stringify(REQUEST)}, new AbortController().signal, async () => console.log("lent"));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toBe("lent\n");
});
