/** Cases 32 to 39 and 53: output, input, arguments and descriptors, byte for byte. */
import { expect } from "vitest";
import type { ExecPipe } from "../../src/core/exec.ts";
import type { ConformanceCase } from "./case.ts";
import { MIB, OPTIONS, output, text } from "./sandbox-parts.ts";

const ROUNDS = process.env["SANDLOT_TEST_SIZE"] === "long" ? 10_000 : 300;
/** Of the kernel: MAX_ARG_STRLEN without the NUL. */
const WORD_BYTES_MAX = 131_071;

async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncIterable<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part;
}

export const IO_CASES: readonly ConformanceCase[] = [
  {
    number: 32,
    title: "a flood of output keeps the cap and counts every dropped byte",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const bytes = 1_024 * MIB;
        const options = { ...OPTIONS, timeoutMs: 60_000, outputBytesMax: 1_000 };
        const before = process.memoryUsage().rss;
        const result = await sandbox.exec(`head -c ${bytes} /dev/zero`, options);
        expect(process.memoryUsage().rss - before).toBeLessThan(256 * MIB);
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0, stdoutBytesTruncated: bytes - 1_000 });
        expect(result.stdout.length).toBe(1_000);
      }),
  },
  {
    number: 32,
    part: "b",
    title: "a flood of output ends the command when asked",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const options = { ...OPTIONS, outputBytesMax: 1_000, onOutputLimit: "kill" } as const;
        const result = await sandbox.exec("yes", options);
        expect(result).toMatchObject({ verdict: "output_limit", exitCode: null });
        expect(result.stdout.length).toBe(1_000);
      }),
  },
  {
    number: 32,
    part: "c",
    title: "two streams at once are each capped and counted on their own",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = "head -c 3000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait";
        const result = await sandbox.exec(script, { ...OPTIONS, outputBytesMax: 300_000 });
        expect([result.stdout.length, result.stdoutBytesTruncated]).toEqual([300_000, 2_700_000]);
        expect([result.stderr.length, result.stderrBytesTruncated]).toEqual([300_000, 1_700_000]);
      }),
  },
  {
    number: 33,
    title: "megabytes on one stream before the other do not deadlock",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = `head -c ${4 * MIB} /dev/zero >&2; echo end`;
        const result = await sandbox.exec(script, { ...OPTIONS, outputBytesMax: 8 * MIB });
        expect([result.stderr.length, text(result.stdout)]).toEqual([4 * MIB, "end\n"]);
        const reverse = `head -c ${4 * MIB} /dev/zero; echo end >&2`;
        const other = await sandbox.exec(reverse, { ...OPTIONS, outputBytesMax: 8 * MIB });
        expect([other.stdout.length, text(other.stderr)]).toEqual([4 * MIB, "end\n"]);
      }),
  },
  {
    number: 34,
    title: "bytes stay bytes",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const all = Uint8Array.from({ length: 256 }, (_, index) => index);
        const result = await sandbox.exec("cat", { ...OPTIONS, input: all });
        expect(Buffer.from(result.stdout).equals(Buffer.from(all))).toBe(true);
      }),
  },
  {
    number: 34,
    part: "b",
    title: "text written byte by byte decodes whole, and only what is truly invalid is replaced",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const valid = "é€𝄞\0\x1b[1m\r\n";
        const bytes = Buffer.concat([Buffer.from(valid), Buffer.from([0xff, 0xed, 0xa0, 0x80, 0x41])]);
        const script = `import os, time\nfor b in bytes.fromhex("${bytes.toString("hex")}"): os.write(1, bytes([b])); time.sleep(0.002)`;
        const decoder = new TextDecoder("utf-8");
        let shown = "";
        const onOutput = (_stream: string, part: Uint8Array): void => {
          shown += decoder.decode(part, { stream: true });
        };
        const result = await sandbox.exec(["python3", "-c", script], { ...OPTIONS, onOutput });
        expect(Buffer.from(result.stdout).equals(bytes)).toBe(true);
        expect(shown + decoder.decode()).toBe(`${valid}\ufffd\ufffd\ufffd\ufffdA`);
      }),
  },
  {
    number: 35,
    title: "output that imitates frames is only output",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        /* The exit, and some output, of each command that may be running. */
        const forged = Buffer.concat(
          Array.from({ length: 32 }, (_, channel) => [
            Buffer.from([56, 0, 0, 0, channel, 0, 0, 0, 35, 0, 0, 0]),
            Buffer.alloc(56),
            Buffer.from([2, 0, 0, 0, channel, 0, 0, 0, 34, 0, 1, 0, 0x68, 0x69]),
          ]).flat(),
        );
        const [forger, other] = await Promise.all([
          sandbox.exec("cat; cat /proc/self/fd/0 >&2; exit 7", { ...OPTIONS, input: forged }),
          sandbox.exec("sleep 0.3; echo mine; exit 6", OPTIONS),
        ]);
        expect(forger).toMatchObject({ verdict: "exited", exitCode: 7 });
        expect(Buffer.from(forger.stdout).equals(forged)).toBe(true);
        expect([other.exitCode, text(other.stdout)]).toEqual([6, "mine\n"]);
      }),
  },
  {
    number: 36,
    title: "the last byte before an exit is never lost",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const run = async (): Promise<void> => {
          const result = await sandbox.exec("printf x; printf y >&2; exit 3", OPTIONS);
          expect([text(result.stdout), text(result.stderr), result.exitCode]).toEqual(["x", "y", 3]);
        };
        for (let round = 0; round < ROUNDS; round += 10) await Promise.all(Array.from({ length: 10 }, run));
      }),
  },
  {
    number: 36,
    part: "b",
    title: "what a command wrote before its exit arrives whole, also when this process was busy meanwhile",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        for (let bytes = 300_000; bytes < 900_000; bytes += 50_000) {
          const running = sandbox.exec(["head", "-c", String(bytes), "/dev/zero"], OPTIONS);
          await new Promise((resolve) => setTimeout(resolve, 5));
          const end = performance.now() + 60;
          while (performance.now() < end);
          expect((await running).stdout.length).toBe(bytes);
        }
      }),
  },
  {
    number: 37,
    title: "much input, a reader that never reads, and one that stops reading do not hang",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const much = new Uint8Array(100 * MIB);
        expect(Number(await output(sandbox, "wc -c", { input: much }))).toBe(much.length);
        expect(await sandbox.exec("exit 4", { ...OPTIONS, input: much })).toMatchObject({ exitCode: 4 });
        expect(await sandbox.exec("head -c 5 >/dev/null; exec <&-; exit 5", { ...OPTIONS, input: much })).toMatchObject(
          {
            exitCode: 5,
          },
        );
        expect(await output(sandbox, "cat", { input: chunks("a", "", "b") })).toBe("ab");
        expect(await sandbox.exec("sleep 0.2; exit 6", { ...OPTIONS, input: much })).toMatchObject({ exitCode: 6 });
      }),
  },
  {
    number: 38,
    title: "arguments and variables arrive as they were given, and too long ones are told",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const words = ["", "a b", "new\nline", `quo'te"s`, "$HOME `x` \\", "x".repeat(120_000)];
        const show = "import sys, json, os; print(json.dumps([sys.argv[1:], os.environ['ODD']]))";
        const shown = await output(sandbox, ["python3", "-c", show, ...words], { envVars: { ODD: "é\n'=\"" } });
        expect(JSON.parse(shown)).toEqual([words, "é\n'=\""]);
        /* One word may have 128 KiB with its end, and all of them together a quarter of the stack. */
        const length = await sandbox.exec(
          ["sh", "-c", 'printf %s "$1" | wc -c', "sh", "x".repeat(WORD_BYTES_MAX)],
          OPTIONS,
        );
        expect(Number(text(length.stdout))).toBe(WORD_BYTES_MAX);
        const variable = { LONG: "x".repeat(WORD_BYTES_MAX - "LONG=".length) };
        expect(await output(sandbox, 'printf %s "$LONG" | wc -c', { envVars: variable })).toBe(
          `${variable.LONG.length}\n`,
        );
        const tooLong = { verdict: "start_failed", startError: "too_long", exitCode: null };
        for (const word of [WORD_BYTES_MAX + 1, 3 * MIB, 5 * MIB])
          expect(await sandbox.exec(["true", "x".repeat(word)], OPTIONS)).toMatchObject(tooLong);
        expect(await sandbox.exec("true", { ...OPTIONS, envVars: { LONG: `x${variable.LONG}` } })).toMatchObject(
          tooLong,
        );
        expect(await sandbox.exec(["true", ...Array(30).fill(words[5])], OPTIONS)).toMatchObject(tooLong);
        expect(await sandbox.exec("echo a\0b", OPTIONS)).toMatchObject({ verdict: "start_failed" });
      }),
  },
  {
    number: 39,
    title: "a folder removed under a command is the command's own affair",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "mkdir /tmp/here");
        expect(await sandbox.exec("rmdir /tmp/here; echo still", { ...OPTIONS, cwd: "/tmp/here" })).toMatchObject({
          exitCode: 0,
        });
        for (const cwd of ["/tmp/here", "/etc/passwd", "/none/there"])
          expect(await sandbox.exec("true", { ...OPTIONS, cwd })).toMatchObject({ startError: "bad_cwd" });
      }),
  },
  {
    number: 53,
    title: "a command has descriptors 0 to 2 and the declared ones, nothing else",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(
          await output(sandbox, ["python3", "-c", "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])"]),
        ).toBe("['0', '1', '2']\n");
        const pipes: ExecPipe[] = [{ fd: 5, onBytes: () => undefined }];
        const listed = await output(
          sandbox,
          ["python3", "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"],
          {
            pipes,
          },
        );
        expect(listed).toBe("['0', '1', '2', '3', '5']\n");
        for (const bad of [[{ fd: 2 }], [{ fd: 3 }, { fd: 3 }], [{ fd: 1_000 }]])
          await expect(sandbox.exec("true", { ...OPTIONS, pipes: bad })).rejects.toMatchObject({
            code: "request_invalid",
          });
      }),
  },
  {
    number: 53,
    part: "b",
    title: "declared descriptors carry bytes both ways, apart from standard output",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const got: Buffer[] = [];
        const both: Buffer[] = [];
        const pipes: ExecPipe[] = [
          { fd: 3, input: chunks("question\n") },
          { fd: 4, onBytes: (bytes) => got.push(Buffer.from(bytes)) },
          { fd: 9, input: chunks("ping\n"), onBytes: (bytes) => both.push(Buffer.from(bytes)) },
        ];
        const script = "read a <&3; read b <&9; echo seen; echo answer-$a >&4; echo pong-$b >&9";
        expect(await output(sandbox, ["bash", "-c", script], { pipes })).toBe("seen\n");
        expect([Buffer.concat(got).toString(), Buffer.concat(both).toString()]).toEqual([
          "answer-question\n",
          "pong-ping\n",
        ]);
      }),
  },
  {
    number: 71,
    part: "b",
    title: "output arrives while the command runs",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const seen: string[] = [];
        let release = (): void => undefined;
        const isReleased = new Promise<void>((resolve) => (release = resolve));
        async function* input(): AsyncIterable<Uint8Array> {
          await isReleased;
          yield Buffer.from("go\n");
        }
        const options = {
          ...OPTIONS,
          input: input(),
          onOutput: (_stream: string, bytes: Uint8Array) => {
            seen.push(text(bytes));
            release();
          },
        };
        expect(await output(sandbox, "echo first; read x; echo $x", options)).toBe("first\ngo\n");
        expect(seen.join("")).toBe("first\ngo\n");
      }),
  },
];
