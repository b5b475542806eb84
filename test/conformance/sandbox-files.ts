/** Cases 40 to 45: the file API stays inside the sandbox, never blocks, and answers with values. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { FILES_TREE_CASES } from "./sandbox-files-trees.ts";
import { LAYER_CASES } from "./sandbox-layers.ts";
import { MIB, OPTIONS, output, text } from "./sandbox-parts.ts";

const bytes = (content: string): Uint8Array => Buffer.from(content);

export const FILES_CASES: readonly ConformanceCase[] = [
  {
    number: 69,
    title: "what is written is read back, with its mode, owner and parents",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const path = "/app/deep/er/file";
        expect(await sandbox.files.write({ path, bytes: bytes("hello"), mode: 0o640 }, { user: "agent" })).toEqual({
          ok: true,
          value: null,
        });
        const read = await sandbox.files.read(path, { bytesMax: 100 });
        expect(read.ok && text(read.value)).toBe("hello");
        expect(await output(sandbox, `stat -c '%a %u' ${path} /app/deep/er /app/deep`)).toBe(
          "640 1000\n755 1000\n755 1000\n",
        );
        const large = new Uint8Array(5 * MIB).fill(7);
        await sandbox.files.write({ path, bytes: large, mode: 0o600 });
        const back = await sandbox.files.read(path, { bytesMax: large.length });
        expect(back.ok && Buffer.from(back.value).equals(Buffer.from(large))).toBe(true);
        expect(await sandbox.files.write({ path: "/tmp/empty", bytes: bytes(""), mode: 0o644 })).toMatchObject({
          ok: true,
        });
        expect(await sandbox.files.read("/tmp/empty", { bytesMax: 0 })).toMatchObject({ ok: true });
      }),
  },
  {
    number: 69,
    part: "b",
    title: "a listing is sorted, recursive when asked, capped, and does not follow links",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(
          sandbox,
          "mkdir -p /app/b/c; echo 12 > /app/b/c/x; echo > /app/a; ln -s /etc /app/z; mkfifo /app/p",
        );
        const flat = await sandbox.files.list("/app", { recursive: false, entriesMax: 10 });
        expect(flat.ok && flat.value.map(({ path, kind }) => `${kind} ${path}`)).toEqual([
          "file a",
          "folder b",
          "other p",
          "link z",
        ]);
        const deep = await sandbox.files.list("/app", { recursive: true, entriesMax: 10 });
        expect(deep.ok && deep.value.map(({ path }) => path)).toEqual(["a", "b", "b/c", "b/c/x", "p", "z"]);
        expect(deep.ok && deep.value[3]).toMatchObject({ bytes: 3, mode: 0o644 });
        expect(await sandbox.files.list("/app", { recursive: true, entriesMax: 5 })).toMatchObject({
          error: "too_large",
        });
        expect(await sandbox.files.list("/none", { recursive: true, entriesMax: 5 })).toMatchObject({
          error: "missing",
        });
      }),
  },
  {
    number: 40,
    title: "links planted where the host reads and writes touch no host file",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const host = mkdtempSync(join(tmpdir(), "sandlot-host-"));
        try {
          await output(sandbox, `ln -s ${host} /app/out; ln -s ${host}/planted /app/file; ln -s / /app/root`);
          await sandbox.files.write({ path: "/app/file", bytes: bytes("x"), mode: 0o644 });
          await sandbox.files.write({ path: "/app/out/planted", bytes: bytes("x"), mode: 0o644 });
          await sandbox.files.write({ path: `/app/root${host}/planted`, bytes: bytes("x"), mode: 0o644 });
          await sandbox.files.write({ path: `/../../../..${host}/planted`, bytes: bytes("x"), mode: 0o644 });
          expect(readdirSync(host)).toEqual([]);
          await output(sandbox, "ln -sf /proc/1/root/etc/shadow /app/shadow; ln -sf ../../../../etc/shadow /app/up");
          for (const path of ["/app/shadow", "/app/up"])
            expect((await sandbox.files.read(path, { bytesMax: MIB })).ok).toBe(false);
        } finally {
          rmSync(host, { recursive: true, force: true });
        }
      }),
  },
  {
    number: 41,
    title: "a link swapped in a tight loop never lets a write out",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const host = mkdtempSync(join(tmpdir(), "sandlot-host-"));
        try {
          const swap = `mkdir /app/d; while :; do ln -sfn ${host} /app/l; mv -T /app/l /app/d 2>/dev/null; rm -rf /app/d; mkdir /app/d; done`;
          const running = await sandbox.start(swap, OPTIONS);
          for (let round = 0; round < 30; round += 1)
            await sandbox.files.write({ path: "/app/d/file", bytes: bytes("x"), mode: 0o644 });
          running.kill("SIGKILL");
          await running.result;
          expect(existsSync(join(host, "file"))).toBe(false);
        } finally {
          rmSync(host, { recursive: true, force: true });
        }
      }),
  },
  {
    number: 43,
    title: "paths into /proc are refused",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "ln -s /proc/self/fd/0 /app/in; ln -s /proc/version /app/version");
        const paths = ["/proc/self/root/etc/passwd", "/proc/1/cwd/etc/passwd", "/proc/self/fd/0", "/proc/self/environ"];
        for (const path of [...paths, "/app/in", "/app/version"]) {
          const read = await sandbox.files.read(path, { bytesMax: MIB });
          expect(read.ok ? "read" : read.error, path).toMatch(/refused_link|missing|denied/);
        }
        expect(await sandbox.files.read("/app/version", { bytesMax: MIB })).toMatchObject({ error: "refused_link" });
        expect(await sandbox.files.read("/proc/self/root/etc/passwd", { bytesMax: MIB })).toMatchObject({
          error: "refused_link",
        });
      }),
  },
  {
    number: 44,
    title: "a FIFO, a device, a socket and a folder answer without blocking",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(
          sandbox,
          "mkfifo /app/fifo; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('/app/sock')\"",
        );
        const why = async (path: string) => {
          const read = await sandbox.files.read(path, { bytesMax: 100 });
          return read.ok ? "read" : read.error;
        };
        expect(await Promise.all(["/app/fifo", "/dev/zero", "/app/sock", "/app", "/none"].map(why))).toEqual([
          "not_regular",
          "not_regular",
          "not_regular",
          "is_directory",
          "missing",
        ]);
        const write = await sandbox.files.write({ path: "/etc", bytes: bytes(""), mode: 0o644 });
        expect(write).toMatchObject({ ok: false, error: "is_directory" });
      }),
  },
  {
    number: 45,
    title: "odd names are handled, and impossible ones are a value",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const odd = `/app/new\nline 'quoted' ${"é".repeat(100)}`;
        expect(await sandbox.files.write({ path: odd, bytes: bytes("x"), mode: 0o644 })).toMatchObject({ ok: true });
        expect(await sandbox.files.read(odd, { bytesMax: 10 })).toMatchObject({ ok: true });
        const listed = await sandbox.files.list("/app", { recursive: false, entriesMax: 10 });
        expect(listed.ok && `/app/${listed.value[0]?.path}`).toBe(odd);
        for (const path of ["relative", "", "/nul\0byte", `/${"x".repeat(300)}`, `/${"x/".repeat(3_000)}`])
          expect(await sandbox.files.write({ path, bytes: bytes("x"), mode: 0o644 })).toMatchObject({
            error: "invalid_path",
          });
      }),
  },
  {
    number: 69,
    part: "c",
    title: "status, folders, renaming, removing and permission bits do what they say, and say why not",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const { files } = sandbox;
        await output(
          sandbox,
          "cd /app; printf 123 >f; chown 1000 f; touch -d @1000000000.5 f; ln -s f l; ln -s /none dead",
        );
        expect(await files.stat("/app/f")).toEqual({
          ok: true,
          value: { kind: "file", bytes: 3, mode: 0o644, uid: 1000, gid: 0, modifiedMs: 1_000_000_000_500 },
        });
        expect(await files.stat("/app/l")).toMatchObject({ ok: true, value: { kind: "link", bytes: 1 } });
        expect(await files.stat("/app/l/")).toMatchObject({ ok: false });
        const there = ["/app", "/", "/app/f", "/app/dead", "/app/none", "/app/f/x"].map((path) => files.exists(path));
        expect(await Promise.all(there)).toEqual([true, true, true, true, false, false]);
        expect(await files.mkdir("/app/a/b/c", { mode: 0o700, user: "agent" })).toEqual({ ok: true, value: null });
        expect(await files.mkdir("/app/a/b")).toMatchObject({ ok: true });
        expect(await files.mkdir("/app/f")).toMatchObject({ error: "not_directory" });
        expect(await files.mkdir("/app/f/x")).toMatchObject({ error: "not_directory" });
        expect(await output(sandbox, "cd /app; stat -c '%u %a %n' a a/b a/b/c")).toBe(
          "1000 755 a\n1000 755 a/b\n1000 700 a/b/c\n",
        );
        expect(await files.rename("/app/f", "/app/a/g")).toMatchObject({ ok: true });
        expect(await files.rename("/app/f", "/app/a/g")).toMatchObject({ error: "missing" });
        expect(await files.rename("/app/a/g", "/app/a/b")).toMatchObject({ error: "is_directory" });
        expect(await files.rename("/app/a", "/app/a/b/inside")).toMatchObject({ error: "invalid_path" });
        expect(await files.rename("/app/a", "/app/z/")).toMatchObject({ ok: true });
        expect(await files.chmod("/app/z/g", 0o4711)).toMatchObject({ ok: true });
        expect(await files.chmod("/app/z", 0o711)).toMatchObject({ ok: true });
        expect(await files.chmod("/app/l", 0o600)).toMatchObject({ error: "refused_link" });
        expect(await output(sandbox, "cd /app; stat -c '%a %n' z/g z")).toBe("4711 z/g\n711 z\n");
        expect(await files.remove("/app/z")).toMatchObject({ error: "is_directory" });
        expect(await files.remove("/app/z", { recursive: true })).toMatchObject({ ok: true });
        expect(await files.remove("/app/z", { recursive: true })).toMatchObject({ error: "missing" });
        expect(await files.remove("/", { recursive: true })).toMatchObject({ ok: false });
        await output(sandbox, "mkdir /app/kept; echo x >/app/kept/x; ln -s kept /app/way");
        expect(await files.remove("/app/way", { recursive: true })).toMatchObject({ ok: true });
        expect(await output(sandbox, "cat /app/kept/x; ls /app")).toBe("x\ndead\nkept\nl\n");
      }),
  },
  {
    number: 69,
    part: "d",
    title: "a range of a file is read exactly, and shorter or empty at its end",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "seq 1 200000 >/app/f");
        const whole = Buffer.from(await output(sandbox, "cat /app/f", { outputBytesMax: 4 * MIB }));
        for (const [offset, count] of [
          [0, 10],
          [65_530, 20],
          [100_000, 200_000],
          [whole.length - 5, 100],
          [whole.length, 10],
          [whole.length * 2, 10],
          [7, 0],
        ] as const) {
          const read = await sandbox.files.readRange("/app/f", { offset, bytes: count });
          const wanted = whole.subarray(offset, offset + count);
          expect(read.ok && Buffer.from(read.value).equals(wanted), `${count} bytes from ${offset}`).toBe(true);
        }
        const none = await sandbox.files.readRange("/app", { offset: 0, bytes: 1 });
        expect(none).toMatchObject({ error: "is_directory" });
      }),
  },
  ...FILES_TREE_CASES,
  ...LAYER_CASES,
];
