/**
 * Cases 60 to 62: the end of a sandbox, however it comes, settles every call and leaves nothing. Cases 16, 65 and 68,
 * the end of its owner, need programs of their own and are held in `test/abuse/`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { Failure } from "../../src/core/errors.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import { type CaseContext, type ConformanceCase, EVENT_MS } from "./case.ts";
import { MIB, OPTIONS, output } from "./sandbox-parts.ts";

const SETTLED = ["sandbox_destroyed", "sandbox_busy", "unsupported"];

export const LEAKS_CASES: readonly ConformanceCase[] = [
  {
    number: 60,
    title: "twenty sandboxes with twenty kinds of end leave what was there before them",
    run: async (boxes) => {
      for (let round = 0; round < 20; round += 1) await endOne(boxes, ENDS[round % ENDS.length] ?? "idle");
      expect(await boxes.provider().list()).toEqual([]);
    },
  },
  {
    number: 61,
    title: "destroying a sandbox settles what runs in it",
    run: async (boxes) => {
      const sandbox = await boxes.create();
      const running = sandbox.exec("sleep 987", OPTIONS).catch((error: unknown) => error);
      await sandbox.destroy();
      expect(await running).toMatchObject({ code: "sandbox_destroyed" });
    },
  },
  {
    number: 61,
    part: "b",
    title: "destroying a sandbox settles every kind of call that is open, each as a value or as the sandbox's end",
    run: async (boxes) => {
      const host = mkdtempSync(join(tmpdir(), "sandlot-host-"));
      try {
        for (let at = 0; at < 40; at += 1) writeFileSync(join(host, `file${at}`), new Uint8Array(65_536));
        for (const open of [openCalls, ...renewalCalls]) {
          const sandbox = await boxes.create();
          const settled = Object.entries(await open(sandbox, host)).map(async ([name, call]) => [
            name,
            await ending(call),
          ]);
          await new Promise((resolve) => setImmediate(resolve));
          await sandbox.destroy();
          for (const [name, how] of await inTime(Promise.all(settled)))
            expect(["value", ...SETTLED], `${name} settled`).toContain(how);
        }
      } finally {
        rmSync(host, { recursive: true, force: true });
      }
    },
  },
  {
    number: 62,
    title: "destroying twice is fine, and using a destroyed sandbox says so",
    run: async (boxes) => {
      const sandbox = await boxes.create();
      await Promise.all([sandbox.destroy(), sandbox.destroy()]);
      await sandbox.destroy();
      await expect(sandbox.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_destroyed" });
      await expect(sandbox.files.read("/etc/passwd", { bytesMax: 10 })).rejects.toMatchObject({
        code: "sandbox_destroyed",
      });
    },
  },
  {
    number: 62,
    part: "b",
    title: "a sandbox ended by its id, by its lifetime or by its own user can still be destroyed",
    run: async (boxes) => {
      const byId = await boxes.create();
      expect(await boxes.provider().destroy(byId.id)).toBe("destroyed");
      expect(await boxes.provider().destroy(byId.id)).toBe("absent");
      await expect(byId.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_destroyed" });
      await byId.destroy();

      const shortLived = await boxes.create({ lifetimeMs: 300 });
      const ended = await shortLived.exec("sleep 987", OPTIONS).catch((error: unknown) => error);
      expect(ended).toMatchObject({ code: "sandbox_destroyed" });
      expect(String(ended)).toMatch(/lifetime/);
      await shortLived.destroy();
      await boxes.until(
        "the ended sandboxes are off the list",
        async () => (await boxes.provider().list()).length === 0,
      );
    },
  },
  {
    number: 79,
    title: "a sandbox that is given more time outlives the time it was asked for, and what is no time is refused",
    run: async (boxes) => {
      const sandbox = await boxes.create({ lifetimeMs: 1_500 });
      await sandbox.extend(60_000);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(await output(sandbox, "echo alive")).toBe("alive\n");
      for (const lifetimeMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
        await expect(sandbox.extend(lifetimeMs)).rejects.toMatchObject({ code: "request_invalid" });
      await sandbox.extend(1);
      await boxes.until("a shorter time ends it", async () => (await boxes.provider().list()).length === 0);
      await expect(sandbox.extend(1_000)).rejects.toMatchObject({ code: "sandbox_destroyed" });
    },
  },
];

const ENDS = ["idle", "busy", "silent", "by id", "aborted", "lifetime", "after a timeout", "with files"] as const;

/** One sandbox from its creation to this kind of end. */
async function endOne(boxes: CaseContext, end: (typeof ENDS)[number]): Promise<void> {
  if (end === "aborted") {
    const controller = new AbortController();
    const creating = boxes.provider().create(boxes.request, controller.signal);
    setImmediate(() => controller.abort());
    await creating.then((sandbox) => sandbox.destroy()).catch(expectCancelled);
    return;
  }
  const sandbox = await boxes.create(end === "lifetime" ? { lifetimeMs: 100 } : {});
  if (end === "lifetime") {
    await sandbox.exec("sleep 987", OPTIONS).catch(() => undefined);
    return;
  }
  await output(sandbox, "head -c 300000 /dev/urandom > /tmp/noise; (setsid sleep 987 &) & true");
  if (end === "busy") void sandbox.exec("yes", { ...OPTIONS, outputBytesMax: 100 }).catch(() => undefined);
  if (end === "silent") void (await sandbox.start("trap '' TERM; sleep 987", OPTIONS)).result.catch(() => undefined);
  if (end === "after a timeout") await sandbox.exec("sleep 987", { ...OPTIONS, timeoutMs: 50, killGraceMs: 20 });
  if (end === "with files") await sandbox.files.write({ path: "/tmp/big", bytes: new Uint8Array(MIB), mode: 0o644 });
  if (end === "by id") await boxes.provider().destroy(sandbox.id);
  await sandbox.destroy();
}

function expectCancelled(error: unknown): void {
  expect(error).toMatchObject({ code: "cancelled" });
}

/** One open call of each kind; some end at once, most would last. */
async function openCalls(sandbox: Sandbox, host: string): Promise<Record<string, Promise<unknown>>> {
  const shell = await sandbox.shell({});
  const started = await sandbox.start("cat", { ...OPTIONS, input: "open" });
  const limits = { bytesMax: 64 * MIB, entriesMax: 1_000 };
  const forever = new AbortController().signal;
  return {
    exec: sandbox.exec("sleep 987", OPTIONS),
    flood: sandbox.exec("yes", { ...OPTIONS, outputBytesMax: 1_000 }),
    input: sandbox.exec("sleep 987", { ...OPTIONS, input: new Uint8Array(8 * MIB) }),
    start: started.result,
    write: started.write(new Uint8Array(MIB)),
    run: shell.run("sleep 987", OPTIONS),
    close: shell.close(),
    read: sandbox.files.read("/etc/passwd", { bytesMax: MIB }),
    writeFile: sandbox.files.write({ path: "/tmp/big", bytes: new Uint8Array(4 * MIB), mode: 0o644 }),
    list: sandbox.files.list("/", { recursive: true, entriesMax: 100_000 }),
    upload: sandbox.files.upload(host, "/tmp/up", limits),
    watch: sandbox.files.watch("/tmp", () => undefined, forever),
    diff: sandbox.diff(),
    processes: sandbox.processes(),
    stats: sandbox.stats(),
    setNetwork: sandbox.setNetwork({ mode: "off" }),
  };
}

/** Each of these changes what other calls meet, so each has a sandbox of its own, in which a command runs. */
const renewalCalls = [
  (sandbox: Sandbox) => sandbox.freeze(),
  (sandbox: Sandbox) => sandbox.reset(),
  (sandbox: Sandbox) => sandbox.snapshot({ live: "copy" }),
  async (sandbox: Sandbox) => {
    for (const fork of await sandbox.fork(2, { live: "copy" })) await fork.destroy();
  },
].map((renew) => async (sandbox: Sandbox): Promise<Record<string, Promise<unknown>>> => {
  const exec = sandbox.exec("sleep 987", OPTIONS);
  return { exec, [String(renew).slice(0, 60)]: renew(sandbox) };
});

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("A call did not settle.")), EVENT_MS);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

async function ending(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "value",
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );
}
