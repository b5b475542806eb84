/** The pool's promises: fresh sandboxes only, a ceiling that holds, waiters in order, nothing left after a drain. */
import { afterEach, expect, test } from "vitest";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import { systemRuntime } from "../runtime/system.ts";
import { type FakeSandboxOptions, fakeProvider } from "./fake-sandbox.ts";
import { sandboxPool } from "./pool.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const REQUEST: SandboxRequest = {
  attemptId: "attempt",
  role: "agent",
  fence: 1,
  image: "host",
  isolationMin: "process",
  limits: {
    cpus: 1,
    memoryBytes: 64 << 20,
    diskBytes: 16 << 20,
    filesMax: 1_000,
    processesMax: 32,
    shmBytes: 1 << 20,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 60_000,
};
const NEVER = new AbortController().signal;
const runtime = systemRuntime();
const pools: SandboxPool[] = [];

function fakePool(options: FakeSandboxOptions = {}, sizes: { lentMax?: number; readyMax?: number } = {}) {
  const provider = fakeProvider(options);
  const pool = sandboxPool({ provider, runtime, lentMax: 2, creatingMax: 2, readyMax: 0, ...sizes });
  pools.push(pool);
  return { provider, pool };
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
  const { pool } = fakePool({}, { readyMax: 2 });
  await pool.withSandbox(REQUEST, NEVER, async () => undefined);
  await until(() => pool.stats().ready === 2);
  const other = { ...REQUEST, limits: { ...REQUEST.limits, cpus: 2 } };
  await pool.withSandbox(other, NEVER, async ({ info }) => expect(info.limits.cpus).toBe(2));
  await until(() => pool.stats().ready === 4);
  const created = pool.stats().created;
  await pool.withSandbox(REQUEST, NEVER, async ({ id }) => expect(id).toBe("fake-2"));
  await until(() => pool.stats().created === created + 1);
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
