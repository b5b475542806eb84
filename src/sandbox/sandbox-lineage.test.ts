/** Layers beneath sandboxes: what a merge of many keeps, who holds them, and snapshots kept as images. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "../../test/abuse/leaks.ts";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { FLATTEN_ABOVE } from "./layer-stack.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const MIB = 1 << 20;
const REQUEST = smallRequest({ limits: { diskBytes: 8 * MIB, filesMax: 1_000, processesMax: 32 } });
const OPTIONS = { timeoutMs: 20_000, outputBytesMax: MIB };

let baseline: LeakBaseline;
let folder: string;
let provider: SandboxProvider;

const create = (image = "host"): Promise<Sandbox> =>
  provider.create({ ...REQUEST, image }, new AbortController().signal);
const text = async (sandbox: Sandbox, command: string): Promise<string> => {
  const { exitCode, stdout, stderr } = await sandbox.exec(command, OPTIONS);
  if (exitCode !== 0) throw new Error(`${command}: ${Buffer.from(stderr).toString()}`);
  return Buffer.from(stdout).toString();
};

beforeEach(async () => {
  baseline = await leakBaseline();
  folder = mkdtempSync(join(tmpdir(), "sandlot-lineage-"));
  provider = namespaceProvider({ runtime: systemRuntime(), imageFolder: join(folder, "images") });
});

afterEach(async () => {
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
  await expectNoLeaks(baseline);
});

/** What each layer of the tall stack does, in turn; together they meet every rule of a merge. */
const CHANGES = [
  "mkdir -p a/b/c && echo 1 > a/b/c/1 && echo 2 > a/2 && ln a/2 a/same && ln -s ../nowhere a/link && mkfifo a/fifo",
  "rm -r a/b && mkdir a/b && echo new > a/b/new",
  "rm a/same && mkdir a/same && echo in > a/same/in",
  "rm -r a/same && echo file > a/same && chmod 4751 a/same",
  "rm a/link && chown 1000:1001 a/b/new && chmod 700 a/b",
  "mv a/b a/moved && mkdir -p a/b/c && echo again > a/b/c/again",
  "truncate -s 3M a/sparse && echo end >> a/sparse && touch -d @1000000000 a/2 a/moved",
  "rm -r a && mkdir a && echo only > a/only && echo pair > a/pair && ln a/pair a/twin",
  "mkdir -p deep/1/2/3/4 && echo x > deep/1/2/3/4/x && rmdir /srv && mkdir /srv",
  "rm -r deep/1/2 && rm -rf /opt /home /etc/shells && mkdir /home && python3 -c \"import os; os.setxattr('a/only', 'user.mark', b'kept')\"",
];
const LISTING =
  "find /app /srv /home /etc -printf '%p %y %m %U %G %s %l %T@\\n' | sort; ls -d /opt 2>&1; find /app -type f | sort | xargs sha256sum;" +
  "test /app/a/pair -ef /app/a/twin && echo one file of two names;" +
  "python3 -c \"import os; print(os.listxattr('/app/a/only'))\" 2>&1 | tail -n 1";

test("a sandbox on fifty layers sees the same before and after they were merged", async () => {
  const sandbox = await create();
  for (let at = 0; at < FLATTEN_ABOVE; at += 1) {
    await text(sandbox, `cd /app && ${CHANGES[at % CHANGES.length]}`);
    await sandbox.snapshot();
  }
  const whole = await text(sandbox, LISTING);
  expect(whole).toContain("one file of two names");
  /* Merges begin only now and run in the background; each new snapshot tells how tall the stack is now. */
  let layers = FLATTEN_ABOVE;
  while (layers > 20) ({ layers } = await sandbox.snapshot());
  const [merged] = await sandbox.fork(1);
  if (merged === undefined) throw new Error("one fork was asked for");
  const directory = / d (?=\d)/;
  const comparable = (listing: string): string[] =>
    listing.split("\n").map((line) => (directory.test(line) ? line.replace(/( \S+ \S+ )\d+ {2}\S+$/, "$1") : line));
  expect(comparable(await text(merged, LISTING))).toEqual(comparable(whole));
});

test("a snapshot is there while its sandbox lives, and its layers go with the last who needs them", async () => {
  const sandbox = await create();
  await text(sandbox, "head -c 4000000 /dev/zero > /app/large");
  const { id, bytes } = await sandbox.snapshot();
  expect(bytes).toBeGreaterThanOrEqual(4_000_000);
  const [fork] = await sandbox.fork(1);
  if (fork === undefined) throw new Error("one fork was asked for");
  await expect(fork.reset(id)).rejects.toMatchObject({ code: "not_found" });
  await sandbox.destroy();
  expect(await text(fork, "stat -c %s /app/large")).toBe("4000000\n");
  await fork.reset();
  expect(await text(fork, "ls /app")).toBe("");
});

/** First processes of machines that were begun for nobody, below this process's helper. */
function blanks(): string[] {
  const status = (pid: string, field: string): string =>
    new RegExp(`^${field}:\\s+(\\S+)`, "m").exec(readText(`/proc/${pid}/status`))?.[1] ?? "";
  return readdirSync("/proc").filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      status(pid, "Name") === "sandlot-blank" &&
      status(status(pid, "PPid"), "PPid") === String(process.pid),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const isDone = (condition: () => boolean): Promise<boolean> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 5 });

test("machines begun in advance serve renewals and forks once each, are few, and end with the provider", async () => {
  const sandbox = await create();
  expect(blanks()).toEqual([]);
  await sandbox.reset();
  const seen = new Set<string>();
  for (let round = 0; round < 4; round += 1) {
    await isDone(() => blanks().length === availableParallelism());
    const before = blanks();
    for (const pid of before) seen.add(pid);
    await text(sandbox, `test ! -e /app/left && echo ${round} > /app/left && (sleep 600 & echo $$ > /tmp/pid)`);
    const { files, processes } = await sandbox.reset();
    expect({ files, processes }).toEqual({ files: 0, processes: 0 });
    const now = blanks();
    expect(before.filter((pid) => !now.includes(pid))).toHaveLength(1);
    expect(await text(sandbox, "ls /app /tmp")).toBe("/app:\n\n/tmp:\n");
  }
  expect(seen.size).toBe(availableParallelism() + 3);
  await text(sandbox, "echo base > /app/base");
  const forks = await sandbox.fork(3);
  for (const [at, fork] of forks.entries()) await text(fork, `echo ${at} >> /app/base`);
  expect(await Promise.all([sandbox, ...forks].map((each) => text(each, "cat /app/base")))).toEqual([
    "base\n",
    ...forks.map((_, at) => `base\n${at}\n`),
  ]);
  await isDone(() => blanks().length === availableParallelism());
  await provider.close();
  expect(blanks()).toEqual([]);
});

test("a renewed machine has the limits and cores of its own sandbox, also beside one of other limits", async () => {
  const small = await create();
  const limits = {
    cpus: 1,
    memoryBytes: 96 * MIB,
    diskBytes: 4 * MIB,
    filesMax: 200,
    processesMax: 9,
    shmBytes: 2 * MIB,
  };
  const other = await provider.create({ ...REQUEST, limits }, new AbortController().signal);
  const machine =
    "nproc; grep MemTotal /proc/meminfo; df -k --output=size / | tail -n 1; df --output=itotal / | tail -n 1; " +
    "df -k --output=size /dev/shm | tail -n 1; cat /proc/sys/kernel/shmall; cat /proc/self/cgroup | wc -l";
  const seen = [await text(small, machine), await text(other, machine)];
  expect(seen[0]).not.toBe(seen[1]);
  for (let round = 0; round < 3; round += 1) {
    await small.reset();
    await other.reset();
    expect([await text(small, machine), await text(other, machine)]).toEqual(seen);
    const bomb = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 60 & done; wait";
    const { processLimitHits } = await other.exec(bomb, { ...OPTIONS, timeoutMs: 300 });
    expect(processLimitHits).toBeGreaterThan(0);
  }
});

test("a fork of no or of far too many sandboxes is refused", async () => {
  const sandbox = await create();
  for (const count of [0, -1, 1.5, 100_000])
    await expect(sandbox.fork(count)).rejects.toMatchObject({ code: "request_invalid" });
  expect(await text(sandbox, "echo goes on")).toBe("goes on\n");
});

/** A whole small root file system with a shell, from programs of this machine. */
function smallRoot(): string {
  const root = join(folder, "root");
  const programs = ["/bin/sh", "/bin/cat", "/bin/ls", "/bin/mkdir", "/bin/rm"];
  const libraries = execFileSync("ldd", programs, { encoding: "utf8" }).match(/\/\S+\.so\S*/g) ?? [];
  for (const path of new Set([...programs, ...libraries])) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
  mkdirSync(join(root, "etc/kept"), { recursive: true });
  writeFileSync(join(root, "etc/kept/base"), "base\n");
  return root;
}

test("a kept snapshot is an image that any later sandbox may stand on", async () => {
  const sandbox = await create(`folder:${smallRoot()}`);
  await text(sandbox, "mkdir /d && echo 1 > /d/1 && rm /etc/kept/base");
  await sandbox.snapshot();
  await text(sandbox, "echo 2 > /d/2 && rm /d/1");
  const { image } = await sandbox.snapshot({ persist: true });
  expect(image).toMatch(/^sha256:[0-9a-f]{64}$/);
  await text(sandbox, "echo later > /d/later");
  const other = await create(image ?? "");
  expect(await text(other, "ls /d /etc/kept; cat /d/2")).toBe("/d:\n2\n\n/etc/kept:\n2\n");
  expect(await other.diff()).toEqual([]);
});

test("a snapshot on the machine's own system is kept too, and stands on that system when it is opened", async () => {
  const sandbox = await create();
  await text(sandbox, "mkdir /d && echo kept > /d/file");
  const { image } = await sandbox.snapshot({ persist: true });
  const other = await create(image ?? "");
  expect(await text(other, "cat /d/file && python3 -c 'print(6 * 7)'")).toBe("kept\n42\n");
  expect(await other.diff()).toEqual([]);
});
