/** What the namespace provider promises beyond the suite: creations undone at each step, ends it makes itself, retries. */

import { constants } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "../../test/abuse/leaks.ts";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const MIB = 1 << 20;
const REQUEST = smallRequest({ limits: { cpus: 1, diskBytes: 8 * MIB, filesMax: 1_000, processesMax: 32 } });
const OPTIONS = { timeoutMs: 20_000, outputBytesMax: MIB };

/** Every step of a creation that the helper can be made to fail after. */
const STEPS = ["groups", "clone", "maps", "storage", "overlay", "system", "views", "pivot", "confine", "first exec"];
const ERRORS = ["ENOSPC", "EMFILE", "EBUSY"] as const;

let baseline: LeakBaseline;
let provider: SandboxProvider;
let fault: string | undefined;

const create = (change: Partial<SandboxRequest> = {}): Promise<Sandbox> =>
  provider.create({ ...REQUEST, ...change }, new AbortController().signal);
const text = async (sandbox: Sandbox, command: string): Promise<string> =>
  Buffer.from((await sandbox.exec(command, OPTIONS)).stdout).toString();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

beforeEach(async () => {
  baseline = await leakBaseline();
  fault = undefined;
  provider = namespaceProvider({ runtime: systemRuntime(), nextFault: () => fault });
});

afterEach(async () => {
  await provider.close();
  await expectNoLeaks(baseline);
});

test("a creation that fails at any step is undone, and says at which", async () => {
  const spared = await create();
  const afterFirst = await leakBaseline();
  for (const step of STEPS)
    for (const name of ERRORS) {
      fault = `${step}:${constants.errno[name]}`;
      const failure = await create().catch((error: unknown) => error);
      expect(failure, `${step} ${name}`).toMatchObject({ code: "sandbox_unavailable" });
      expect(String(failure)).toMatch(/could not be made: [^:]+: \S/);
      expect(await provider.list()).toHaveLength(1);
      if (name === "EBUSY") await expectNoLeaks(afterFirst);
    }
  fault = undefined;
  expect(await text(spared, "echo untouched")).toBe("untouched\n");
  expect(await text(await create(), "echo works again")).toBe("works again\n");
});

test("a sandbox whose renewal fails at every try says that it is lost, and leaves nothing", async () => {
  const sandbox = await create();
  fault = `overlay:${constants.errno.EBUSY}`;
  await expect(sandbox.snapshot()).rejects.toMatchObject({ code: "sandbox_unavailable" });
  await expect(sandbox.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_lost" });
  await sandbox.destroy();
  expect(await provider.list()).toEqual([]);
});

test("a sandbox past its lifetime, or idle too long, says so to every later call", async () => {
  const [short, idle] = await Promise.all([create({ lifetimeMs: 2_000 }), create({ idleMs: 300 })]);
  const process = await short.start("sleep 300", { ...OPTIONS, timeoutMs: 300_000 });
  await expect(process.result).rejects.toMatchObject({ code: "sandbox_destroyed" });
  await expect(short.exec("true", OPTIONS)).rejects.toThrow(/lifetime of 2000 ms/);
  while ((await provider.list()).length > 0) await pause(20);
  await expect(idle.files.exists("/etc")).rejects.toThrow(/no call was open or made for 300 ms/);
});

test("watching a sandbox does not keep a forgotten one alive", async () => {
  const sandbox = await create({ idleMs: 500 });
  let ended: unknown = null;
  for (let tries = 0; ended === null && tries < 500; tries += 1) {
    ended = await sandbox.stats().then(
      () => null,
      (error: unknown) => error,
    );
    await pause(20);
  }
  expect(ended).toMatchObject({ code: "sandbox_destroyed" });
});

test("a sandbox with a call open, or used again and again, is not idle", async () => {
  const sandbox = await create({ idleMs: 400 });
  await sandbox.exec("sleep 1", OPTIONS);
  for (let at = 0; at < 8; at += 1) {
    await pause(100);
    expect(await text(sandbox, "echo used")).toBe("used\n");
  }
});

test("the helper ends a sandbox past its lifetime even when its owner does not", async () => {
  const runtime = systemRuntime();
  const deaf = namespaceProvider({ runtime: { ...runtime, timer: () => () => undefined } });
  const sandbox = await deaf.create({ ...REQUEST, lifetimeMs: 1 }, new AbortController().signal);
  const process = await sandbox.start("sleep 300", { ...OPTIONS, timeoutMs: 300_000 });
  await expect(process.result).rejects.toMatchObject({ code: "sandbox_destroyed", message: /lifetime/ });
  await deaf.close();
});

test("sandboxes are listed by their labels and ended by their id", async () => {
  const one = await create({ labels: { run: "a" } });
  const other = await create({ labels: { run: "b" }, role: "verifier" });
  expect((await provider.list({ run: "a" })).map(({ id }) => id)).toEqual([one.id]);
  expect((await provider.list({ run: "b", role: "verifier" })).map(({ id }) => id)).toEqual([other.id]);
  expect(await provider.destroy(one.id)).toBe("destroyed");
  expect(await provider.destroy(one.id)).toBe("absent");
  expect((await provider.list()).map(({ id }) => id)).toEqual([other.id]);
});

test("a creation that is tried again with its key gets the sandbox of the first try", async () => {
  const request = { labels: { retryKey: "r1" } };
  const [first, second] = await Promise.all([create(request), create(request)]);
  expect(second.id).toBe(first.id);
  expect((await create(request)).id).toBe(first.id);
  expect((await create({ ...request, fence: 2 })).id).not.toBe(first.id);
  await first.destroy();
  expect((await create(request)).id).not.toBe(first.id);
});

test("a ready sandbox serves the request it is adopted for", async () => {
  const ready = await create({ attemptId: "pool", lifetimeMs: 3_000 });
  const request = { ...REQUEST, attemptId: "a1", envVars: { NAME: "a1" }, labels: { run: "x" }, lifetimeMs: 60_000 };
  const adopted = await provider.adopt?.(ready, request);
  expect(adopted?.info).toMatchObject({ id: ready.id, labels: { attemptId: "a1", run: "x" } });
  expect(adopted === undefined ? "" : await text(adopted, "echo $NAME")).toBe("a1\n");
  expect((await provider.list({ attemptId: "a1" })).length).toBe(1);
  await expect(provider.adopt?.(ready, { ...request, limits: { ...request.limits, cpus: 2 } })).rejects.toMatchObject({
    code: "request_invalid",
  });
});
