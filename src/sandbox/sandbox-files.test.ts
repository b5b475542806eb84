/** Whole trees between a host folder and a real sandbox: what is carried, what is refused, and what a bound leaves. */

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const MIB = 1 << 20;
const LIMITS = { bytesMax: 64 * MIB, entriesMax: 10_000 };
const REQUEST = smallRequest();

let provider: SandboxProvider;
let sandbox: Sandbox;
let host: string;

beforeAll(async () => {
  provider = await namespaceProvider({ runtime: systemRuntime() });
});
afterAll(() => provider.close());
beforeEach(async () => {
  host = mkdtempSync(join(tmpdir(), "sandlot-files-"));
  sandbox = await provider.create(REQUEST, new AbortController().signal);
});
afterEach(async () => {
  rmSync(host, { recursive: true, force: true });
  await sandbox.destroy();
});

async function output(command: string): Promise<string> {
  const result = await sandbox.exec(command, { timeoutMs: 20_000, outputBytesMax: MIB });
  if (result.exitCode !== 0) throw new Error(Buffer.from(result.stderr).toString());
  return Buffer.from(result.stdout).toString();
}

test("a host folder comes out of the sandbox as it went in", async () => {
  const from = join(host, "from");
  mkdirSync(join(from, "a/b/empty"), { recursive: true });
  writeFileSync(join(from, "a/b/file"), "hello");
  writeFileSync(join(from, "a/large"), Buffer.alloc(3 * MIB, "x"));
  writeFileSync(join(from, "a/run"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(from, "none"), "");
  chmodSync(join(from, "a/b"), 0o550);
  const up = await sandbox.files.upload(from, "/app/new/tree", { ...LIMITS, user: "agent" });
  expect(up).toEqual({ ok: true, value: { files: 4, folders: 3, bytes: 3 * MIB + 15, refused: [] } });
  expect(await output("cd /app/new; stat -c '%a %u %n' . tree tree/a/b tree/a/b/file tree/a/run; ls -A")).toBe(
    "755 1000 .\n755 1000 tree\n550 1000 tree/a/b\n644 1000 tree/a/b/file\n755 1000 tree/a/run\ntree\n",
  );
  const to = join(host, "to");
  mkdirSync(to);
  const down = await sandbox.files.download("/app/new/tree", to, LIMITS);
  expect(down).toEqual(up);
  expect(readFileSync(join(to, "a/b/file"), "utf8")).toBe("hello");
  expect(readFileSync(join(to, "a/large")).equals(Buffer.alloc(3 * MIB, "x"))).toBe(true);
  expect(lstatSync(join(to, "a/b")).mode & 0o777).toBe(0o550);
  expect(lstatSync(join(to, "a/run")).mode & 0o777).toBe(0o755);
  expect(readdirSync(join(to, "a/b/empty"))).toEqual([]);
  expect(readdirSync(to)).toEqual(["a", "none"]);
});

test("links, devices and setuid bits of the host folder are named and stay out", async () => {
  symlinkSync("/etc/passwd", join(host, "link"));
  writeFileSync(join(host, "suid"), "x");
  chmodSync(join(host, "suid"), 0o4755);
  const up = await sandbox.files.upload(host, "/app/tree", LIMITS);
  expect(up).toMatchObject({ ok: true, value: { files: 1, refused: ["link", "suid"] } });
  expect(await output("stat -c '%a %n' /app/tree/*")).toBe("755 /app/tree/suid\n");
});

test("an upload over a folder keeps what it does not name, and one that cannot go leaves all as it was", async () => {
  await output("mkdir -p /app/t/d /app/t/block; echo old > /app/t/d/old; echo old > /app/t/f; ln -s /etc /app/t/l");
  mkdirSync(join(host, "d"));
  writeFileSync(join(host, "d/new"), "new\n");
  writeFileSync(join(host, "f"), "new\n");
  expect(await sandbox.files.upload(host, "/app/t", LIMITS)).toMatchObject({ ok: true });
  expect(await output("cd /app/t; cat d/old d/new f; ls -A . d")).toBe(
    "old\nnew\nnew\n.:\nblock\nd\nf\nl\n\nd:\nnew\nold\n",
  );
  writeFileSync(join(host, "f"), "newer\n");
  writeFileSync(join(host, "block"), "x");
  expect(await sandbox.files.upload(host, "/app/t", LIMITS)).toMatchObject({ error: "is_directory" });
  rmSync(join(host, "block"));
  mkdirSync(join(host, "l"));
  expect(await sandbox.files.upload(host, "/app/t", LIMITS)).toMatchObject({ error: "refused_link" });
  expect(await output("cd /app/t; cat f; ls -A")).toBe("new\nblock\nd\nf\nl\n");
});

test("a tree beyond a bound leaves nothing on the side that is written", async () => {
  const from = join(host, "from");
  const to = join(host, "to");
  mkdirSync(from);
  mkdirSync(to);
  for (let index = 0; index < 20; index += 1) writeFileSync(join(from, String(index)), Buffer.alloc(100_000));
  for (const limits of [
    { bytesMax: 1_000_000, entriesMax: 100 },
    { bytesMax: MIB * 10, entriesMax: 19 },
  ])
    expect(await sandbox.files.upload(from, "/app/new/tree", limits)).toMatchObject({ error: "too_large" });
  expect(await output("ls -A /app")).toBe("");
  writeFileSync(join(from, "huge"), Buffer.alloc(40 * MIB));
  expect(await sandbox.files.upload(from, "/app/tree", LIMITS)).toMatchObject({ error: "no_space" });
  expect(await output("ls -A /app")).toBe("");
  await output("mkdir /app/t; cd /app/t; for i in $(seq 20); do head -c 100000 /dev/zero > $i; done");
  for (const limits of [
    { bytesMax: 1_000_000, entriesMax: 100 },
    { bytesMax: MIB * 10, entriesMax: 19 },
  ])
    expect(await sandbox.files.download("/app/t", to, limits)).toMatchObject({ error: "too_large" });
  expect(readdirSync(to)).toEqual([]);
});

test("what cannot be done on the host is said, and nothing is left", async () => {
  writeFileSync(join(host, "there"), "x");
  await output("mkdir /app/t; echo x > /app/t/x");
  await expect(sandbox.files.download("/app/t", host, LIMITS)).rejects.toMatchObject({ code: "request_invalid" });
  await expect(sandbox.files.download("/app/t", join(host, "no"), LIMITS)).rejects.toMatchObject({
    code: "request_invalid",
  });
  await expect(sandbox.files.upload(join(host, "no"), "/app/u", LIMITS)).rejects.toMatchObject({
    code: "request_invalid",
  });
  expect(readdirSync(host)).toEqual(["there"]);
  expect(existsSync(join(host, "no"))).toBe(false);
  expect(await output("ls -A /app")).toBe("t\n");
});

test("the files of a tree are read whole, sorted, with all their bits, and within their bounds", async () => {
  await output(`mkdir -p /app/t/d/e; cd /app/t; printf one >d/e/one; printf two >d-two; chmod 6711 d-two; ln -s /etc/passwd l; mkfifo p
    head -c 300000 /dev/zero >large`);
  const read = await sandbox.files.readTree("/app/t/", { bytesMax: 300_006, entriesMax: 7 });
  expect(read.ok && read.value.map(({ path, mode, bytes }) => [path, mode, bytes.length])).toEqual([
    ["/app/t/d/e/one", 0o644, 3],
    ["/app/t/d-two", 0o6711, 3],
    ["/app/t/large", 0o644, 300_000],
  ]);
  expect(await sandbox.files.readTree("/app/t", { bytesMax: 300_005, entriesMax: 7 })).toMatchObject({
    error: "too_large",
  });
  expect(await sandbox.files.readTree("/app/t", { bytesMax: 300_006, entriesMax: 6 })).toMatchObject({
    error: "too_large",
  });
  expect(await sandbox.files.readTree("/app/t/large", LIMITS)).toMatchObject({ error: "not_directory" });
  expect(await sandbox.files.readTree("/app/none", LIMITS)).toMatchObject({ error: "missing" });
  expect(await sandbox.files.readTree("/proc", LIMITS)).toMatchObject({ error: "refused_link" });
});
