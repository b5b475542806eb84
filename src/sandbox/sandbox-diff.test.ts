/** What a real sandbox changed, as a list and as a layer that makes the same tree of the image again. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const MIB = 1 << 20;
const REQUEST = smallRequest();

let provider: SandboxProvider;
let sandbox: Sandbox;

beforeAll(async () => {
  provider = await namespaceProvider({ runtime: systemRuntime() });
});
afterAll(() => provider.close());
beforeEach(async () => {
  sandbox = await provider.create(REQUEST, new AbortController().signal);
});
afterEach(() => sandbox.destroy());

async function run(command: string, inside = sandbox): Promise<string> {
  const result = await inside.exec(command, { timeoutMs: 20_000, outputBytesMax: MIB });
  if (result.exitCode !== 0) throw new Error(Buffer.from(result.stderr).toString());
  return Buffer.from(result.stdout).toString();
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

async function changes(inside = sandbox): Promise<string[]> {
  return (await inside.diff()).map(({ change, kind, bytes, path }) => `${change} ${kind} ${bytes} ${path}`);
}

test("a fresh sandbox differs in nothing, and a touched file is no change", async () => {
  expect(await sandbox.diff()).toEqual([]);
  await run(
    "touch /etc/passwd; chmod 600 /etc/passwd; chmod 644 /etc/passwd; mv /etc/group /etc/g; mv /etc/g /etc/group",
  );
  expect(await sandbox.diff()).toEqual([]);
});

test("what was added, changed and removed is told, sorted, with size and hash", async () => {
  await run(`cd /app; mkdir -p d/e; printf hello >d/e/f; printf x >d-e; ln -s /etc/passwd l; mkfifo p
    echo more >>/etc/passwd; chmod 600 /etc/group; rm /etc/hosts; rm -r /etc/ssl 2>/dev/null || true; : >empty`);
  const all = await sandbox.diff();
  expect(all.map(({ path }) => path)).toEqual(all.map(({ path }) => path).toSorted());
  expect(all.filter(({ path }) => path.startsWith("/app"))).toEqual([
    { path: "/app/d", change: "added", kind: "folder", bytes: null, sha256: null },
    { path: "/app/d-e", change: "added", kind: "file", bytes: 1, sha256: sha256("x") },
    { path: "/app/d/e", change: "added", kind: "folder", bytes: null, sha256: null },
    { path: "/app/d/e/f", change: "added", kind: "file", bytes: 5, sha256: sha256("hello") },
    { path: "/app/empty", change: "added", kind: "file", bytes: 0, sha256: sha256("") },
    { path: "/app/l", change: "added", kind: "link", bytes: null, sha256: null },
    { path: "/app/p", change: "added", kind: "other", bytes: null, sha256: null },
  ]);
  const passwd = await run("cat /etc/passwd");
  expect(all.filter(({ path }) => /passwd|group$|hosts$/.test(path))).toEqual([
    { path: "/etc/group", change: "modified", kind: "file", bytes: expect.any(Number), sha256: expect.any(String) },
    { path: "/etc/hosts", change: "removed", kind: null, bytes: null, sha256: null },
    { path: "/etc/passwd", change: "modified", kind: "file", bytes: passwd.length, sha256: sha256(passwd) },
  ]);
  await expect(sandbox.diff({ entriesMax: 5 })).rejects.toMatchObject({ code: "request_invalid" });
});

test("hashes are right at every length around a block", async () => {
  await run(
    "cd /app; for i in $(seq 0 130); do head -c $i /dev/zero | tr '\\0' a >$i; done; head -c 3000001 /dev/zero >big",
  );
  const all = new Map((await sandbox.diff()).map(({ path, sha256 }) => [path, sha256]));
  for (let length = 0; length <= 130; length += 1) expect(all.get(`/app/${length}`)).toBe(sha256("a".repeat(length)));
  expect(all.get("/app/big")).toBe(sha256("\0".repeat(3_000_001)));
});

test("a folder that took another's place shows what it kept, what is new and what is gone", async () => {
  await run(
    "cd /etc; cp -a . /tmp/etc; rm -r /etc/*; cp -a /tmp/etc/passwd .; echo x >new; rm -r /tmp/etc; rm -r /home; echo >/home",
  );
  const all = await changes();
  expect(all).toContain("added file 2 /etc/new");
  expect(all).toContain("removed null null /etc/group");
  expect(all).toContain("modified file 1 /home");
  expect(all.some((line) => line.endsWith("/etc/passwd"))).toBe(false);
  await run("rm -r /opt; mkdir /opt; echo >/opt/file");
  expect((await changes()).filter((line) => line.includes("/opt"))).toEqual(["added file 1 /opt/file"]);
});

test("after a snapshot only what came later differs", async () => {
  await run("echo one >/app/one; rm /etc/hosts; rm -r /opt; mkdir /opt; echo >/opt/file");
  await sandbox.snapshot();
  expect(await sandbox.diff()).toEqual([]);
  await run("echo two >/app/two; echo more >>/app/one; rm /opt/file; echo >/etc/hosts; rm /etc/group");
  expect(await changes()).toEqual([
    "modified file 9 /app/one",
    "added file 4 /app/two",
    "removed null null /etc/group",
    "added file 1 /etc/hosts",
    "removed null null /opt/file",
  ]);
});

test("the layer is a tar that other programs read, with whiteouts, long names and odd names", async () => {
  const long = "n".repeat(200);
  await run(`cd /app; mkdir -p d/${long}/${long}; printf hello >d/${long}/${long}/f; ln -s ${long} l; ln d/${long}/${long}/f hard
    printf x >"$(printf 'latin\\351')"; printf x >"é"; mkfifo p; printf x >.wh.evil; printf x >run; chown 1000:1000 run; chmod 4755 run
    rm /etc/hosts; rm -r /opt; mkdir /opt; printf x >/opt/file; rm -r /home; printf x >/home; touch -d @1000000000 run`);
  const folder = mkdtempSync(join(tmpdir(), "sandlot-layer-"));
  try {
    const parts: Uint8Array[] = [];
    for await (const part of sandbox.exportLayer()) parts.push(part);
    writeFileSync(join(folder, "layer.tar"), Buffer.concat(parts));
    const script = `import tarfile, hashlib
t = tarfile.open("${join(folder, "layer.tar")}", errors="surrogateescape")
for m in t.getmembers():
    kind = "d" if m.isdir() else "l" if m.issym() else "f" if m.isreg() else "?"
    body = t.extractfile(m).read().decode() if m.isreg() else m.linkname
    print(kind, oct(m.mode)[2:], m.uid, m.mtime > 0, ascii(m.name.replace("${long}", "LONG")), body.replace("${long}", "LONG"))`;
    const listed = execFileSync("python3", ["-c", script], { encoding: "utf8" }).trimEnd().split("\n");
    expect(listed).toEqual([
      "d 755 0 True 'app/d' ",
      "d 755 0 True 'app/d/LONG' ",
      "d 755 0 True 'app/d/LONG/LONG' ",
      "f 644 0 True 'app/d/LONG/LONG/f' hello",
      "f 644 0 True 'app/hard' hello",
      "l 777 0 True 'app/l' LONG",
      "f 644 0 True 'app/latin\\udce9' x",
      "f 4755 1000 True 'app/run' x",
      "f 644 0 True 'app/\\xe9' x",
      "f 0 0 False 'etc/.wh.hosts' ",
      "f 0 0 False '.wh.home' ",
      "f 644 0 True 'home' x",
      "d 755 0 True 'opt' ",
      "f 0 0 False 'opt/.wh..wh..opq' ",
      "f 644 0 True 'opt/file' x",
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a reader that stops ends the export, and the sandbox goes on", async () => {
  await run("head -c 20000000 /dev/urandom >/app/large");
  for await (const part of sandbox.exportLayer()) if (part.length > 0) break;
  expect(await run("echo on")).toBe("on\n");
});

test("names that are long and many are too much to tell, and do not fill this process", async () => {
  const wide = { ...REQUEST, attemptId: "diff-long", limits: { ...REQUEST.limits, filesMax: 12_000 } };
  const other = await provider.create(wide, new AbortController().signal);
  try {
    await run(
      `python3 -c '
import os
os.chdir("/srv")
for _ in range(31): os.mkdir("d" * 250); os.chdir("d" * 250)
for at in range(9000): os.close(os.open(str(at), os.O_CREAT))'`,
      other,
    );
    await other.freeze();
    await expect(other.diff()).rejects.toMatchObject({ code: "request_invalid" });
  } finally {
    await other.destroy();
  }
});

test("holes and hard links, which cost a sandbox nothing, make no layer that fills the host's disk", async () => {
  const exported = async (): Promise<number> => {
    let bytes = 0;
    for await (const piece of sandbox.exportLayer()) bytes += piece.length;
    return bytes;
  };
  await run("cd /srv; truncate -s 100M hole; head -c 1M /dev/urandom >many; for i in $(seq 50); do ln many m$i; done");
  expect(await exported()).toBeGreaterThan(150 * MIB);
  await run("for i in $(seq 400); do ln /srv/many /srv/n$i; done");
  await expect(exported()).rejects.toMatchObject({ code: "request_invalid" });
  await run("rm /srv/n*; truncate -s 1G /srv/hole");
  await expect(exported()).rejects.toMatchObject({ code: "request_invalid" });
});
