/** The fake keeps the contract as far as it goes, and its planted faults are the failures they name. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import { fakeProvider, fakeSandboxPool } from "./fake-sandbox.ts";

const REQUEST: SandboxRequest = {
  attemptId: "attempt",
  role: "agent",
  fence: 1,
  image: "none",
  isolationMin: "process",
  limits: { cpus: 1, memoryBytes: 1, diskBytes: 1, filesMax: 1, processesMax: 1, shmBytes: 1 },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 1_000,
};
const NEVER = new AbortController().signal;
const OPTIONS = { timeoutMs: 1_000, outputBytesMax: 4 };

test("commands are answered by the script, within the output cap, and may use the files", async () => {
  const pool = fakeSandboxPool({
    onCommand: (command, { files }) => {
      files.set("/seen", { bytes: Buffer.from(command), mode: 0o644 });
      return { exitCode: 3, stdout: "123456" };
    },
  });
  await pool.withSandbox(REQUEST, NEVER, async (sandbox) => {
    const result = await sandbox.exec(["echo", "hi"], OPTIONS);
    expect([result.exitCode, Buffer.from(result.stdout).toString(), result.stdoutBytesTruncated]).toEqual([
      3,
      "1234",
      2,
    ]);
    const seen = await sandbox.files.read("/seen", { bytesMax: 100 });
    expect(seen.ok && Buffer.from(seen.value).toString()).toBe("echo hi");
  });
  expect(pool.lent).toBe(0);
});

test("files are listed as a tree, and a missing one is a value", async () => {
  const sandbox = await fakeProvider().create(REQUEST, NEVER);
  await sandbox.files.write({ path: "/app/a/b", bytes: Buffer.from("x"), mode: 0o600 });
  const flat = await sandbox.files.list("/app", { recursive: false, entriesMax: 5 });
  const deep = await sandbox.files.list("/app", { recursive: true, entriesMax: 5 });
  expect([flat.ok && flat.value.map(({ path }) => path), deep.ok && deep.value.map(({ path }) => path)]).toEqual([
    ["a"],
    ["a", "a/b"],
  ]);
  expect(await sandbox.files.read("/none", { bytesMax: 1 })).toMatchObject({ ok: false, error: "missing" });
});

test("a sandbox is lost after as many commands as planted, frozen when asked, and gone when destroyed", async () => {
  const provider = fakeProvider({ loseAfter: 1, createFailures: 1 });
  await expect(provider.create(REQUEST, NEVER)).rejects.toMatchObject({ code: "sandbox_unavailable" });
  const lost = await provider.create(REQUEST, NEVER);
  await lost.exec("true", OPTIONS);
  await expect(lost.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_lost" });
  await expect(lost.files.read("/x", { bytesMax: 1 })).rejects.toMatchObject({ code: "sandbox_lost" });
  const frozen = await provider.create(REQUEST, NEVER);
  await frozen.freeze();
  await expect(frozen.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_busy" });
  await provider.close();
  await expect(frozen.stats()).rejects.toMatchObject({ code: "sandbox_destroyed" });
  expect(await provider.list()).toEqual([]);
});

test("a started command can be written to, attached to, signalled and given up, and ends with its sandbox", async () => {
  const provider = fakeProvider({
    onCommand: async (command, { input }) => ({
      stdout: command === "cat" ? Buffer.from(await input()).toString() : await new Promise<string>(() => undefined),
    }),
  });
  const sandbox = await provider.create(REQUEST, NEVER);
  const cat = await sandbox.start("cat", { ...OPTIONS, input: "open" });
  await cat.write(Buffer.from("ab"));
  expect((await sandbox.processes()).map(({ command }) => command)).toEqual(["cat"]);
  cat.closeInput();
  expect(Buffer.from((await cat.result).stdout).toString()).toBe("ab");
  await expect(cat.write(Buffer.from("c"))).rejects.toMatchObject({ code: "request_invalid" });
  const seen: string[] = [];
  await sandbox.attach(cat.id, (_stream, bytes) => seen.push(Buffer.from(bytes).toString()));
  expect(seen).toEqual(["ab"]);
  await expect(sandbox.attach("none")).rejects.toMatchObject({ code: "not_found" });
  const [killed, givenUp, lasting] = [
    await sandbox.start("wait", OPTIONS),
    sandbox.exec("wait", { ...OPTIONS, signal: AbortSignal.timeout(5) }),
    sandbox.exec("wait", OPTIONS),
  ];
  killed.kill("SIGTERM");
  expect(await killed.result).toMatchObject({ verdict: "signalled", signal: "SIGTERM", exitCode: null });
  expect(await givenUp).toMatchObject({ verdict: "cancelled", exitCode: null });
  const settled = expect(lasting).rejects.toMatchObject({ code: "sandbox_destroyed" });
  await sandbox.destroy();
  await settled;
});

test("files can be ranged, made, moved, removed, watched, and carried to and from the host", async () => {
  const host = mkdtempSync(join(tmpdir(), "sandlot-fake-"));
  try {
    const { files } = await fakeProvider().create(REQUEST, NEVER);
    const stop = new AbortController();
    const events: string[] = [];
    const watching = files.watch("/", ({ path, kind }) => events.push(`${kind} ${path}`), stop.signal);
    await files.write({ path: "/a/file", bytes: Buffer.from("0123456789"), mode: 0o644 }, { user: "agent" });
    const range = await files.readRange("/a/file", { offset: 8, bytes: 5 });
    expect(range.ok && Buffer.from(range.value).toString()).toBe("89");
    expect(await files.stat("/a/file")).toMatchObject({ value: { kind: "file", bytes: 10, uid: 1000 } });
    expect(await files.mkdir("/a/file/below")).toMatchObject({ error: "not_directory" });
    expect(await files.rename("/a", "/b")).toMatchObject({ ok: true });
    expect([await files.exists("/a/file"), await files.exists("/b/file")]).toEqual([false, true]);
    expect(await files.chmod("/b/file", 0o600)).toMatchObject({ ok: true });
    stop.abort();
    expect(await watching).toMatchObject({ ok: true });
    expect(events).toEqual(["created /a/file", "removed /a/file", "created /b/file", "modified /b/file"]);

    mkdirSync(join(host, "from/deep"), { recursive: true });
    mkdirSync(join(host, "to"));
    writeFileSync(join(host, "from/deep/one"), "1");
    symlinkSync("/etc", join(host, "from/link"));
    const limits = { bytesMax: 100, entriesMax: 5 };
    const uploaded = await files.upload(join(host, "from"), "/c", limits);
    expect(uploaded).toMatchObject({ value: { files: 1, folders: 1, bytes: 1, refused: ["link"] } });
    expect(await files.download("/c", join(host, "to"), { ...limits, bytesMax: 0 })).toMatchObject({
      error: "too_large",
    });
    expect(await files.download("/c", join(host, "to"), limits)).toMatchObject({ ok: true });
    expect(readFileSync(join(host, "to/deep/one"), "utf8")).toBe("1");
    expect(await files.remove("/c")).toMatchObject({ error: "is_directory" });
    expect(await files.remove("/c", { recursive: true })).toMatchObject({ ok: true });
    expect(await files.exists("/c")).toBe(false);
  } finally {
    rmSync(host, { recursive: true });
  }
});

test("snapshots, forks and resets go by the files, and a difference is told path by path", async () => {
  const provider = fakeProvider();
  const sandbox = await provider.create(REQUEST, NEVER);
  const write = (to: Sandbox, content: string) =>
    to.files.write({ path: "/x", bytes: Buffer.from(content), mode: 0o644 });
  const read = async (from: Sandbox) => {
    const found = await from.files.read("/x", { bytesMax: 10 });
    return found.ok ? Buffer.from(found.value).toString() : found.error;
  };
  await write(sandbox, "one");
  expect(await sandbox.diff()).toMatchObject([{ path: "/x", change: "added", bytes: 3 }]);
  const snapshot = await sandbox.snapshot();
  expect(await sandbox.diff()).toEqual([]);
  const forks = await sandbox.fork(2);
  await Promise.all(forks.map((fork, index) => write(fork, `fork${index}`)));
  expect(await Promise.all([sandbox, ...forks].map(read))).toEqual(["one", "fork0", "fork1"]);
  await write(sandbox, "two");
  await sandbox.reset(snapshot.id);
  expect(await read(sandbox)).toBe("one");
  await sandbox.reset();
  expect(await read(sandbox)).toBe("missing");
  await expect(sandbox.reset("none")).rejects.toMatchObject({ code: "not_found" });
  expect(await provider.list({ attemptId: "attempt" })).toHaveLength(3);
  expect(await provider.destroy(sandbox.id)).toBe("destroyed");
  expect(await provider.destroy(sandbox.id)).toBe("absent");
  await provider.close();
});

test("a fake sandbox tells what was run and written since its trace began", async () => {
  const provider = fakeProvider();
  const sandbox = await provider.create(REQUEST, NEVER);
  await sandbox.exec("before", OPTIONS);
  const trace = await sandbox.trace?.(["/tests"]);
  await sandbox.exec("after", OPTIONS);
  for (const path of ["/tests/a", "/elsewhere"])
    await sandbox.files.write({ path, bytes: Buffer.from("x"), mode: 0o644 });
  const log = await trace?.log();
  expect(log?.events.map(({ kind, path, argv }) => `${kind} ${argv?.at(-1) ?? path}`)).toEqual([
    "exec after",
    "write /tests/a",
  ]);
});
