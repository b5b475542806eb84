/** Cases of whole trees and watches: what is carried between host and sandbox, and what never is. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
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
import { expect } from "vitest";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { WatchEvent } from "../../src/core/sandbox-files.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { MIB, OPTIONS, output, text } from "./sandbox-parts.ts";

const LIMITS = { bytesMax: 8 * MIB, entriesMax: 500 };

/** A fresh sandbox and a host folder with the empty folders `up` and `down` and a file `secret` that no sandbox may see. */
function withHost(use: (sandbox: Sandbox, host: string) => Promise<void>): ConformanceCase["run"] {
  return (boxes: CaseContext) =>
    boxes.with(async (sandbox) => {
      const host = mkdtempSync(join(tmpdir(), "sandlot-host-"));
      for (const name of ["up", "down"]) mkdirSync(join(host, name));
      writeFileSync(join(host, "secret"), "host secret");
      try {
        await use(sandbox, host);
      } finally {
        rmSync(host, { recursive: true, force: true });
      }
    });
}

/** The host folder holds what it held, and nothing below `down` is anything but a file or folder without the secret. */
function expectUntouched(host: string): void {
  expect(readdirSync(host).sort()).toEqual(["down", "secret", "up"]);
  expect(readFileSync(join(host, "secret"), "utf8")).toBe("host secret");
  for (const path of readdirSync(join(host, "down"), { recursive: true, encoding: "utf8" })) {
    const status = lstatSync(join(host, "down", path));
    expect(status.isFile() || status.isDirectory(), path).toBe(true);
    if (status.isFile()) expect(readFileSync(join(host, "down", path), "utf8")).not.toContain("host secret");
  }
}

function emptied(folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

const HOSTILE_CASES: readonly ConformanceCase[] = [
  {
    number: 40,
    part: "b",
    title: "trees go in and out of a sandbox full of links without touching the host",
    run: withHost(async (sandbox, host) => {
      await output(
        sandbox,
        `mkdir -p /app/t/d; cd /app/t; ln -s ${host} host; ln -s ${host}/secret file; ln -s / root; ln -s .. up
         ln -s ${host}/down /app/out; ln -s ../../../../../..${host}/secret d/climb; echo ok >d/plain`,
      );
      const down = await sandbox.files.download("/app/t", join(host, "down"), LIMITS);
      expect(down).toMatchObject({ ok: true, value: { files: 1, folders: 1 } });
      expect(down.ok && [...down.value.refused].sort()).toEqual(["d/climb", "file", "host", "root", "up"]);
      expect(readdirSync(join(host, "down"), { recursive: true, encoding: "utf8" }).sort()).toEqual(["d", "d/plain"]);
      writeFileSync(join(host, "up/planted"), "x");
      emptied(join(host, "down"));
      for (const path of ["/app/out", "/app/t/host", `/app/t/root${host}`, "/app/t/file"])
        await sandbox.files.upload(join(host, "up"), path, { ...LIMITS, user: "agent" });
      await sandbox.files.mkdir(`/app/t/root${host}/made`, { user: "agent" });
      await sandbox.files.rename("/app/t/d/plain", `/app/t/root${host}/moved`);
      await sandbox.files.chmod("/app/t/file", 0o777);
      await sandbox.files.remove(`/app/t/root${host}/secret`);
      await sandbox.files.remove("/app/t/host", { recursive: true });
      expectUntouched(host);
      expect(readdirSync(join(host, "down"))).toEqual([]);
    }),
  },
  {
    number: 41,
    part: "b",
    title: "folders swapped for links during uploads and downloads never lead to the host",
    run: withHost(async (sandbox, host) => {
      const swap = `mkdir -p /app/t/d; cd /app/t; while :; do
        ln -sfn ${host} l; mv -T d e 2>/dev/null; mv -T l d 2>/dev/null; rm -rf d; ln -s /proc/self/root d; rm -rf d
        mkdir -p d; echo plain >d/secret; echo x >d/x; ln -sfn ${host}/secret d/x; done`;
      const running = await sandbox.start(["/bin/sh", "-c", swap], OPTIONS);
      mkdirSync(join(host, "up/d"));
      writeFileSync(join(host, "up/d/planted"), "x");
      for (let round = 0; round < 20; round += 1) {
        await sandbox.files.upload(join(host, "up"), "/app/t", LIMITS);
        await sandbox.files.download("/app/t", emptied(join(host, "down")), LIMITS);
        expectUntouched(host);
        expect(existsSync(join(host, "planted"))).toBe(false);
      }
      running.kill("SIGKILL");
      await running.result;
    }),
  },
  {
    number: 42,
    title: "of a tree only plain files and folders come out, and the rest is named",
    run: withHost(async (sandbox, host) => {
      await output(
        sandbox,
        `mkdir -p /app/t; cd /app/t; echo one >one; ln one two; mkfifo fifo; ln -s /etc/passwd abs; ln -s ../.. climb
         cp one suid; chmod 6755 suid; mkdir -m 1777 sticky; echo x >'..x'; echo x >'back\\slash'; : >-rf
         python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('sock')"`,
      );
      const down = await sandbox.files.download("/app/t", join(host, "down"), LIMITS);
      expect(down).toMatchObject({ ok: true, value: { files: 6, folders: 1 } });
      expect(down.ok && [...down.value.refused].sort()).toEqual(["abs", "climb", "fifo", "sock", "sticky", "suid"]);
      expect(readdirSync(join(host, "down")).sort()).toEqual([
        "-rf",
        "..x",
        "back\\slash",
        "one",
        "sticky",
        "suid",
        "two",
      ]);
      expect(lstatSync(join(host, "down/suid")).mode & 0o7777).toBe(0o755);
      expect(lstatSync(join(host, "down/sticky")).mode & 0o7777).toBe(0o777);
      const one = lstatSync(join(host, "down/one"));
      expect([one.nlink, readFileSync(join(host, "down/two"), "utf8")]).toEqual([1, "one\n"]);
      const devices = await sandbox.files.download("/dev", emptied(join(host, "down")), LIMITS);
      expect(devices.ok && devices.value).toMatchObject({ files: 0 });
      expect(devices.ok && devices.value.refused).toEqual(expect.arrayContaining(["null", "zero", "fd"]));
    }),
  },
  {
    number: 42,
    part: "b",
    title: "of a host folder only plain files and folders go in, and the rest is named",
    run: withHost(async (sandbox, host) => {
      const up = join(host, "up");
      writeFileSync(join(up, "one"), "one");
      linkSync(join(up, "one"), join(up, "two"));
      symlinkSync(join(host, "secret"), join(up, "link"));
      symlinkSync(host, join(up, "folder-link"));
      execFileSync("mkfifo", [join(up, "fifo")]);
      writeFileSync(join(up, "suid"), "x");
      chmodSync(join(up, "suid"), 0o4755);
      const report = await sandbox.files.upload(up, "/app/t", LIMITS);
      expect(report).toMatchObject({ ok: true, value: { files: 3, folders: 0, bytes: 7 } });
      expect(report.ok && report.value.refused).toEqual(["fifo", "folder-link", "link", "suid"]);
      expect(await output(sandbox, "cd /app/t; stat -c '%a %h %F %n' *")).toBe(
        "644 1 regular file one\n755 1 regular file suid\n644 1 regular file two\n",
      );
    }),
  },
  {
    number: 43,
    part: "b",
    title: "no file operation works through /proc",
    run: withHost(async (sandbox, host) => {
      const { files } = sandbox;
      await output(sandbox, "ln -s /proc/self/root/etc /app/etc; mkdir /app/t; echo x >/app/x");
      for (const at of ["/proc/self/root/app", "/proc/1/cwd", "/proc/self/fd/0", "/app/etc", "/proc/sys"]) {
        const results = [
          await files.list(at, { recursive: false, entriesMax: 1_000 }),
          await files.write({ path: `${at}/x`, bytes: new Uint8Array(), mode: 0o644 }),
          await files.mkdir(`${at}/made`),
          await files.rename("/app/x", `${at}/x`),
          await files.remove(`${at}/x`),
          await files.chmod(`${at}/x`, 0o777),
          await files.upload(join(host, "up"), `${at}/t`, LIMITS),
          await files.download(at, join(host, "down"), LIMITS),
          await files.watch(at, () => undefined, AbortSignal.timeout(10_000)),
          await files.readRange(`${at}/x`, { offset: 0, bytes: 1 }),
          await files.readTree(at, LIMITS),
        ];
        expect(
          results
            .map((result) => (result.ok ? "done" : result.error))
            .filter((error) => !/link|denied|miss|dir/.test(error)),
          at,
        ).toEqual([]);
      }
      expect(await files.exists("/proc/self/root")).toBe(false);
      const top = await files.list("/proc", { recursive: true, entriesMax: 1_000 });
      expect(top).toMatchObject({ error: "refused_link" });
      expect(await output(sandbox, "cat /app/x")).toBe("x\n");
    }),
  },
  {
    number: 44,
    part: "b",
    title: "FIFOs, devices and a file of one tebibyte answer every operation at once",
    run: withHost(async (sandbox, host) => {
      const { files } = sandbox;
      await output(
        sandbox,
        "mkdir /app/t; mkfifo /app/t/fifo; truncate -s 1T /app/t/huge 2>/dev/null || truncate -s 8G /app/t/huge",
      );
      const down = join(host, "down");
      expect(await files.download("/app/t", down, LIMITS)).toMatchObject({ error: "too_large" });
      expect(readdirSync(down)).toEqual([]);
      expect(await files.read("/app/t/huge", { bytesMax: MIB })).toMatchObject({ error: "too_large" });
      const range = await files.readRange("/app/t/huge", { offset: 5_000_000_000, bytes: 3 });
      expect(range.ok && [...range.value]).toEqual([0, 0, 0]);
      expect(await files.readRange("/app/t/fifo", { offset: 0, bytes: 1 })).toMatchObject({ error: "not_regular" });
      expect(await files.readRange("/dev/zero", { offset: 0, bytes: 1 })).toMatchObject({ error: "not_regular" });
      expect(await files.chmod("/app/t/fifo", 0o600)).toMatchObject({ error: "not_regular" });
      expect(await files.stat("/app/t/fifo")).toMatchObject({ ok: true, value: { kind: "other" } });
      expect(await files.download("/app/t/fifo", down, LIMITS)).toMatchObject({ error: "not_directory" });
      expect(await files.rename("/app/t/fifo", "/app/t/pipe")).toMatchObject({ ok: true });
      expect(await files.remove("/app/t/pipe")).toMatchObject({ ok: true });
    }),
  },
  {
    number: 45,
    part: "b",
    title: "a name that is no UTF-8 can be listed, read, carried, renamed and removed",
    run: withHost(async (sandbox, host) => {
      const { files } = sandbox;
      await output(
        sandbox,
        `mkdir /app/t; cd /app/t; printf odd >"$(printf 'caf\\351')"; mkdir "$(printf '\\377\\376')"; printf x >"$(printf '\\377\\376/\\240')"`,
      );
      const listed = await files.list("/app/t", { recursive: true, entriesMax: 10 });
      expect(listed.ok && listed.value.map(({ path }) => path)).toEqual([
        "caf\udce9",
        "\udcff\udcfe",
        "\udcff\udcfe/\udca0",
      ]);
      const read = await files.read("/app/t/caf\udce9", { bytesMax: 10 });
      expect(read.ok && Buffer.from(read.value).toString()).toBe("odd");
      expect(await files.download("/app/t", join(host, "down"), LIMITS)).toMatchObject({
        ok: true,
        value: { files: 2 },
      });
      const names = readdirSync(join(host, "down"), { encoding: "buffer" }).map((name) => name.toString("hex"));
      expect(names.sort()).toEqual(["636166e9", "fffe"]);
      expect(await files.upload(join(host, "down"), "/app/back", LIMITS)).toMatchObject({
        ok: true,
        value: { files: 2 },
      });
      expect(await output(sandbox, "diff -r /app/t /app/back && echo same")).toBe("same\n");
      expect(await files.rename("/app/t/caf\udce9", "/app/t/\udcfe")).toMatchObject({ ok: true });
      expect(await files.remove("/app/t/\udcfe")).toMatchObject({ ok: true });
      expect(await files.remove("/app/t/\udcff\udcfe", { recursive: true })).toMatchObject({ ok: true });
      expect(await files.list("/app/t", { recursive: true, entriesMax: 10 })).toEqual({ ok: true, value: [] });
      expect(await files.stat("/app/\ud800")).toMatchObject({ error: "invalid_path" });
    }),
  },
];

const TREE_CASES: readonly ConformanceCase[] = [
  {
    number: 69,
    part: "e",
    title: "a tree comes out as it went in, laid over what is there, owned by the user it was given to",
    run: withHost(async (sandbox, host) => {
      const up = join(host, "up");
      mkdirSync(join(up, "d/empty"), { recursive: true });
      writeFileSync(join(up, "d/run"), "#!/bin/sh\n", { mode: 0o755 });
      writeFileSync(join(up, "large"), Buffer.alloc(2 * MIB, "x"));
      const wanted = { ok: true, value: { files: 2, folders: 2, bytes: 2 * MIB + 10, refused: [] } };
      await output(sandbox, "mkdir -p /app/t/d; echo old >/app/t/d/run; echo kept >/app/t/d/kept");
      expect(await sandbox.files.upload(up, "/app/t", { ...LIMITS, user: "agent" })).toEqual(wanted);
      expect(await output(sandbox, "cd /app/t; stat -c '%u %a %n' d/* large; cat d/kept; ls -A | wc -l")).toBe(
        "1000 755 d/empty\n0 644 d/kept\n1000 755 d/run\n1000 644 large\nkept\n2\n",
      );
      await sandbox.files.remove("/app/t/d/kept");
      expect(await sandbox.files.download("/app/t", join(host, "down"), LIMITS)).toEqual(wanted);
      expect(execFileSync("diff", ["-r", up, join(host, "down")], { encoding: "utf8" })).toBe("");
      expect(lstatSync(join(host, "down/d/run")).mode & 0o7777).toBe(0o755);
    }),
  },
  {
    number: 69,
    part: "h",
    title: "the files of a tree are read in one go, sorted, with all their bits, and within their bounds",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(
          sandbox,
          "mkdir -p /app/t/d; cd /app/t; printf one >d/one; printf two >two; chmod 4711 two; ln -s d l",
        );
        const read = await sandbox.files.readTree("/app/t", { bytesMax: 6, entriesMax: 4 });
        expect(
          read.ok && read.value.map(({ path, mode, bytes }) => `${path} ${mode.toString(8)} ${text(bytes)}`),
        ).toEqual(["/app/t/d/one 644 one", "/app/t/two 4711 two"]);
        for (const limits of [
          { bytesMax: 5, entriesMax: 4 },
          { bytesMax: 6, entriesMax: 3 },
        ])
          expect(await sandbox.files.readTree("/app/t", limits)).toMatchObject({ error: "too_large" });
        expect(await sandbox.files.readTree("/app/t/two", LIMITS)).toMatchObject({ error: "not_directory" });
        expect(await sandbox.files.readTree("/app/t/none", LIMITS)).toMatchObject({ error: "missing" });
      }),
  },
  {
    number: 69,
    part: "f",
    title: "a tree beyond a bound, or without room, leaves nothing behind",
    run: withHost(async (sandbox, host) => {
      const { files } = sandbox;
      const [up, down] = [join(host, "up"), join(host, "down")];
      for (let index = 0; index < 10; index += 1) writeFileSync(join(up, `f${index}`), Buffer.alloc(100_000, "x"));
      for (const limits of [
        { bytesMax: 999_999, entriesMax: 10 },
        { bytesMax: MIB, entriesMax: 9 },
      ])
        expect(await files.upload(up, "/app/new/t", limits)).toMatchObject({ error: "too_large" });
      expect(await output(sandbox, "ls -A /app")).toBe("");
      expect(await files.upload(up, "/app/t", { bytesMax: 1_000_000, entriesMax: 10 })).toMatchObject({ ok: true });
      for (const limits of [
        { bytesMax: 999_999, entriesMax: 10 },
        { bytesMax: MIB, entriesMax: 9 },
      ])
        expect(await files.download("/app/t", down, limits)).toMatchObject({ error: "too_large" });
      expect(readdirSync(down)).toEqual([]);
      expect(await files.download("/app/t", down, { bytesMax: 1_000_000, entriesMax: 10 })).toMatchObject({ ok: true });
      await expect(files.download("/app/t", down, LIMITS)).rejects.toMatchObject({ code: "request_invalid" });
    }),
  },
  {
    number: 69,
    part: "g",
    title: "a watch tells what is created, modified and removed, in new folders too, until it is ended",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const seen: WatchEvent[] = [];
        const stop = new AbortController();
        const has = (kind: WatchEvent["kind"], path: string): boolean =>
          seen.some((event) => event.kind === kind && event.path === path);
        await output(sandbox, "mkdir -p /app/t/d; echo x >/app/t/old; ln -s /tmp /app/t/link");
        const watching = sandbox.files.watch("/app/t/", (event) => seen.push(event), stop.signal);
        watching.catch(() => undefined);
        await boxes.until("the watch tells a first change", async () => {
          await output(sandbox, "echo >/app/t/first");
          return seen.length > 0;
        });
        await output(
          sandbox,
          "cd /app/t; echo y >>old; echo z >d/new; mkdir -p e/f; echo >e/f/g; rm first; echo >/tmp/not",
        );
        await boxes.until("a change in a new folder is told", () => has("created", "/app/t/e/f/g"));
        await output(sandbox, "cd /app/t; mv e h; echo >h/f/again");
        await boxes.until("a change in a moved folder is told", () => has("created", "/app/t/h/f/again"));
        for (const [kind, path] of [
          ["modified", "/app/t/old"],
          ["created", "/app/t/d/new"],
          ["created", "/app/t/e"],
          ["removed", "/app/t/first"],
          ["removed", "/app/t/e"],
        ] as const)
          expect(has(kind, path), `${kind} ${path}`).toBe(true);
        expect(seen.every(({ path }) => path.startsWith("/app/t/") && !path.includes("link"))).toBe(true);
        stop.abort();
        expect(await watching).toEqual({ ok: true, value: null });
        const never = new AbortController().signal;
        expect(await sandbox.files.watch("/none", () => undefined, never)).toMatchObject({ error: "missing" });
        expect(await sandbox.files.watch("/etc/passwd", () => undefined, never)).toMatchObject({
          error: "not_directory",
        });
      }),
  },
];

export const FILES_TREE_CASES: readonly ConformanceCase[] = [...HOSTILE_CASES, ...TREE_CASES];
