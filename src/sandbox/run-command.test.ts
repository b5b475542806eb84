/** Commands in a real sandbox: a slow reader holds up its own command alone, and clocks that jump change no deadline. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox, SandboxProvider } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const REQUEST = smallRequest({ limits: { diskBytes: 16 << 20, filesMax: 1_000 } });
const OPTIONS = { timeoutMs: 20_000, outputBytesMax: 64 << 20 };
const WINDOW = 262_144;
const PIPE = 65_536;

let hours = 0;
/** Its wall clock jumps a hundred years at each look; nothing may depend on it. */
const runtime = {
  ...systemRuntime(),
  now: (): number => {
    hours += 876_000;
    return hours * 3_600_000;
  },
};

let provider: SandboxProvider;
let sandbox: Sandbox;
beforeAll(async () => {
  provider = namespaceProvider({ runtime });
  sandbox = await provider.create(REQUEST, new AbortController().signal);
});
afterAll(() => provider.close());

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

test("a reader that takes its time stops its own command in its pipe, and no other", async () => {
  const gate = Promise.withResolvers<void>();
  let seen = 0;
  const onOutput = (_stream: string, bytes: Uint8Array): Promise<void> => {
    seen += bytes.length;
    return gate.promise;
  };
  const bytes = 4 << 20;
  const script = `head -c ${bytes} /dev/zero; echo > /tmp/through`;
  const slow = sandbox.exec(script, { ...OPTIONS, onOutput });
  for (let round = 0; round < 20; round += 1) {
    const other = await sandbox.exec("head -c 1000000 /dev/zero; ls /tmp", OPTIONS);
    expect(other.stdout.length).toBe(1_000_000);
  }
  expect(seen).toBe(WINDOW);
  gate.resolve();
  const result = await slow;
  expect([result.exitCode, result.stdout.length, seen]).toEqual([0, bytes, bytes]);
  expect(text((await sandbox.exec("ls /tmp", OPTIONS)).stdout)).toContain("through");
});

test("what a command left in its pipe still arrives when its reader is slow, before the exit", async () => {
  const gate = Promise.withResolvers<void>();
  let isOver = false;
  const bytes = WINDOW + PIPE;
  const slow = sandbox.exec(["head", "-c", String(bytes), "/dev/zero"], { ...OPTIONS, onOutput: () => gate.promise });
  void slow.then(() => (isOver = true));
  await sandbox.exec("sleep 0.2", OPTIONS);
  expect(isOver).toBe(false);
  gate.resolve();
  expect((await slow).stdout.length).toBe(bytes);
});

test("output beyond the cap needs no reader", async () => {
  const onOutput = (): Promise<void> => new Promise(() => undefined);
  const options = { ...OPTIONS, outputBytesMax: 1_000, onOutput };
  const result = await sandbox.exec("head -c 3000000 /dev/zero", options);
  expect([result.stdout.length, result.stdoutBytesTruncated]).toEqual([1_000, 2_999_000]);
});

test("a command that waits for its reader is not silent", async () => {
  const gate = Promise.withResolvers<void>();
  const options = { ...OPTIONS, idleOutputMs: 300, onOutput: () => gate.promise };
  const slow = sandbox.exec("head -c 1000000 /dev/zero", options);
  await sandbox.exec("sleep 0.6", OPTIONS);
  gate.resolve();
  expect(await slow).toMatchObject({ verdict: "exited", idleTimedOut: false });
});

test("a wall clock that jumps neither ends a command early nor keeps it", async () => {
  expect(await sandbox.exec("sleep 0.2; echo fine", { ...OPTIONS, timeoutMs: 10_000 })).toMatchObject({ exitCode: 0 });
  const late = await sandbox.exec("sleep 987", { ...OPTIONS, timeoutMs: 300 });
  expect(late).toMatchObject({ verdict: "timed_out", exitCode: null });
  expect(late.durationMs).toBeGreaterThanOrEqual(300);
});

test("the helper knows the monotonic clock alone", () => {
  const folder = join(import.meta.dirname, "../../native/helper");
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".c"))) {
    const source = readFileSync(join(folder, name), "utf8");
    expect(/CLOCK_REALTIME|\b(gettimeofday|time|timerfd_create|alarm|setitimer)\(/.test(source), name).toBe(false);
    for (const [, clock] of source.matchAll(/clock_gettime\((\w+)/g)) expect(clock, name).toBe("CLOCK_MONOTONIC");
  }
});

test("a command may have eight more descriptors, and reads end of file from one that is only for its output", async () => {
  const got = new Map<number, string>();
  async function* once(word: string): AsyncIterable<Uint8Array> {
    yield Buffer.from(word);
  }
  const pipes = Array.from({ length: 8 }, (_, index) => ({
    fd: 3 + index,
    onBytes: (bytes: Uint8Array) => void got.set(3 + index, (got.get(3 + index) ?? "") + text(bytes)),
    ...(index < 4 ? { input: once(`in${index}\n`) } : {}),
  }));
  const script = 'for fd in 3 4 5 6 7 8 9 10; do x=$(cat <&$fd); echo "$fd:$x" >&$fd; done';
  const result = await sandbox.exec(["bash", "-c", script], { ...OPTIONS, pipes });
  expect([result.exitCode, text(result.stderr)]).toEqual([0, ""]);
  expect([...got.values()]).toEqual(["3:in0\n", "4:in1\n", "5:in2\n", "6:in3\n", "7:\n", "8:\n", "9:\n", "10:\n"]);
  const ninth = [...pipes, { fd: 11, onBytes: () => undefined }];
  await expect(sandbox.exec("true", { ...OPTIONS, pipes: ninth })).rejects.toMatchObject({ code: "request_invalid" });
});

test("a bound that bounds nothing is refused by name, and the sandbox goes on", async () => {
  const wrong = {
    timeoutMs: Number.NaN,
    idleOutputMs: -1,
    killGraceMs: Number.POSITIVE_INFINITY,
    outputBytesMax: 1 / 0,
  };
  for (const [name, value] of Object.entries(wrong)) {
    const message = `A command's ${name} must be a number from 0 on, not ${value}.`;
    const running = sandbox.exec("true", { ...OPTIONS, [name]: value });
    await expect(running).rejects.toMatchObject({ code: "request_invalid", message });
  }
  expect(await sandbox.exec("true", { ...OPTIONS, outputBytesMax: 0.5 })).toMatchObject({ exitCode: 0 });
  const shell = await sandbox.shell({});
  for (const bound of [{ timeoutMs: -1 }, { outputBytesMax: Number.NaN }])
    await expect(shell.run("true", { ...OPTIONS, ...bound })).rejects.toMatchObject({ code: "request_invalid" });
  const long = { timeoutMs: 3_000_000_000, outputBytesMax: 1.5 };
  expect(await shell.run("printf ab", long)).toMatchObject({ exitCode: 0, outputBytesTruncated: 1 });
  await shell.close();
  const process = await sandbox.start("true", { ...OPTIONS, pty: { columns: 80, rows: 24 } });
  expect(() => process.resize({ columns: 0, rows: 24 })).toThrow("65535 columns and rows");
  await process.result;
});

test("a command that could not even be sent takes input only when that is open, like every other", async () => {
  for (const command of ["true", ["a\0b"]] as const) {
    const closed = await sandbox.start(command, OPTIONS);
    await expect(closed.write(Buffer.from("x"))).rejects.toMatchObject({ code: "request_invalid" });
    expect(() => closed.closeInput()).toThrow(expect.objectContaining({ code: "request_invalid" }));
    const open = await sandbox.start(command, { ...OPTIONS, input: "open" });
    open.closeInput();
    open.closeInput();
    await Promise.all([closed.result, open.result]);
  }
});

test("of ended commands the latest can be attached to, and the oldest are forgotten", async () => {
  const first = await sandbox.start(["echo", "one"], OPTIONS);
  await first.result;
  expect((await sandbox.attach(first.id)).id).toBe(first.id);
  for (let round = 0; round < 8; round += 1)
    await Promise.all(Array.from({ length: 8 }, async () => (await sandbox.start(["true"], OPTIONS)).result));
  await expect(sandbox.attach(first.id)).rejects.toMatchObject({ code: "not_found" });
});
