/** The fake keeps the contract as far as it goes, and its planted faults are the failures they name. */
import { expect, test } from "vitest";
import type { SandboxRequest } from "../core/sandbox.ts";
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
