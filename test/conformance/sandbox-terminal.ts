/** Commands a caller stays with: terminals, open input, attachment by id, and the list of what runs. */
import { expect } from "vitest";
import type { ExecOptions, SandboxProcess } from "../../src/core/exec.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { OPTIONS, output, text } from "./sandbox-parts.ts";

const PTY = { columns: 100, rows: 40 };

/** A command with open input, and a way to wait for what it writes. */
async function talk(
  context: CaseContext,
  sandbox: Sandbox,
  command: string | readonly string[],
  options: Partial<ExecOptions>,
) {
  let seen = "";
  const onOutput = (_stream: string, bytes: Uint8Array): void => {
    seen += text(bytes);
  };
  const process = await sandbox.start(command, { ...OPTIONS, input: "open", onOutput, ...options });
  return {
    process,
    say: (line: string): Promise<void> => process.write(Buffer.from(line)),
    sees: (part: string): Promise<void> => context.until(`it writes ${part}`, () => seen.includes(part)),
    clear: (): void => {
      seen = "";
    },
    seen: (): string => seen,
  };
}

async function endOf(process: SandboxProcess): Promise<string> {
  const result = await process.result;
  return `${result.verdict} ${result.exitCode ?? result.signal}`;
}

export const TERMINAL_CASES: readonly ConformanceCase[] = [
  {
    number: 75,
    title: "a command at a terminal has one of its own, of the asked size and its user, and no other's",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = "tty; stty size; stat -c %u $(tty); [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; echo err >&2";
        const result = await sandbox.exec(script, { ...OPTIONS, user: "agent", pty: PTY });
        expect(text(result.stdout)).toMatch(/^\/dev\/pts\/\d+\r\n40 100\r\n1000\r\nall\r\nerr\r\n$/);
        expect(result.stderr.length).toBe(0);
        expect(await output(sandbox, "ls /dev/pts")).toBe("ptmx\n");
        expect((await sandbox.exec("tty", OPTIONS)).exitCode).not.toBe(0);
      }),
  },
  {
    number: 75,
    part: "b",
    title: "an interactive shell at a terminal takes lines, Ctrl-C, a new size and the end of its input",
    run: (context) =>
      context.with(async (sandbox) => {
        const shell = await talk(context, sandbox, ["bash", "--norc", "-i"], { pty: PTY, envVars: { PS1: "ready> " } });
        await shell.sees("ready>");
        await shell.say("echo $((40 + 2))\n");
        await shell.sees("42\r\n");
        shell.process.resize({ columns: 99, rows: 33 });
        await shell.say("stty size; sleep 987\n");
        await shell.sees("33 99");
        shell.clear();
        /* A Ctrl-C between two commands of a line is nobody's, as at any terminal. */
        await context.until("Ctrl-C ends the sleep", async () => {
          await shell.say("\x03");
          await new Promise((resolve) => setTimeout(resolve, 100));
          return shell.seen().includes("ready>");
        });
        await shell.say("trap 'echo told' WINCH; python3 -q\n");
        await shell.sees(">>>");
        await shell.say("import sys; print(sys.stdin.isatty())\n");
        await shell.sees("True");
        await shell.say("exit()\nexit 7\n");
        expect(await endOf(shell.process)).toBe("exited 7");
      }),
  },
  {
    number: 75,
    part: "c",
    title: "without input a terminal is at its end, and its end hangs up on what still uses it",
    run: (context) =>
      context.with(async (sandbox) => {
        expect(text((await sandbox.exec("cat; echo over", { ...OPTIONS, pty: PTY })).stdout)).toBe("over\r\n");
        const lines = await talk(context, sandbox, "cat", { pty: PTY });
        await lines.say("half a line");
        lines.process.closeInput();
        expect(await endOf(lines.process)).toBe("exited 0");
        const left =
          'python3 -c \'import time; open("/tmp/begun", "w"); time.sleep(987)\' & until [ -e /tmp/begun ]; do sleep 0.01; done';
        await sandbox.exec(left, { ...OPTIONS, pty: PTY });
        await context.until("the child is hung up on", async () => (await sandbox.processes()).length === 0);
      }),
  },
  {
    number: 76,
    title: "a started command reads what is written to it, until its input is closed",
    run: (context) =>
      context.with(async (sandbox) => {
        const { process, say, sees } = await talk(context, sandbox, "read a; echo got $a; cat; echo end", {});
        await say("first\n");
        await sees("got first\n");
        await say("x".repeat(1_000_000));
        process.closeInput();
        process.closeInput();
        await expect(say("late")).rejects.toMatchObject({ code: "request_invalid" });
        const result = await process.result;
        expect(text(result.stdout)).toBe(`got first\n${"x".repeat(1_000_000)}end\n`);
        const closed = await sandbox.start("cat", OPTIONS);
        await expect(closed.write(Buffer.from("x"))).rejects.toMatchObject({ code: "request_invalid" });
        await expect(sandbox.exec("cat", { ...OPTIONS, input: "open" })).rejects.toMatchObject({
          code: "request_invalid",
        });
        const deaf = await talk(context, sandbox, "exec <&-; echo deaf; sleep 0.2", {});
        await deaf.sees("deaf");
        await deaf.say("x".repeat(1_000_000));
        expect(await endOf(deaf.process)).toBe("exited 0");
      }),
  },
  {
    number: 76,
    part: "b",
    title: "a started command is found again by its id, with the output it has had and what comes",
    run: (context) =>
      context.with(async (sandbox) => {
        const first = await talk(context, sandbox, "echo one; read x; echo two; exit 5", {});
        await first.sees("one");
        let seen = "";
        const again = await sandbox.attach(first.process.id, (_stream, bytes) => (seen += text(bytes)));
        expect([seen, again.id]).toEqual(["one\n", first.process.id]);
        await again.write(Buffer.from("\n"));
        expect(await endOf(again)).toBe("exited 5");
        expect([seen, first.seen()]).toEqual(["one\ntwo\n", "one\ntwo\n"]);
        let kept = "";
        await sandbox.attach(first.process.id, (_stream, bytes) => (kept += text(bytes)));
        expect(kept).toBe("one\ntwo\n");
        await expect(sandbox.attach("no-such")).rejects.toMatchObject({ code: "not_found" });
        const capped = await sandbox.start("head -c 5000 /dev/zero", { ...OPTIONS, outputBytesMax: 100 });
        await capped.result;
        let bytes = 0;
        await sandbox.attach(capped.id, (_stream, part) => (bytes += part.length));
        expect(bytes).toBe(100);
      }),
  },
  {
    number: 76,
    part: "c",
    title: "each signal reaches a started command's whole group",
    run: (context) =>
      context.with(async (sandbox) => {
        const script =
          "trap 'echo usr1' USR1; trap 'echo usr2' USR2; sh -c 'trap \"echo child\" USR1; echo begun; while :; do sleep 0.02; done' & while :; do sleep 0.02; done";
        const { process, sees, clear, seen } = await talk(context, sandbox, script, {});
        await sees("begun");
        await context.until("both are told", () => {
          process.kill("SIGUSR1");
          return seen().includes("usr1") && seen().includes("child");
        });
        process.kill("SIGSTOP");
        clear();
        process.kill("SIGUSR2");
        await new Promise((resolve) => setTimeout(resolve, 200));
        expect(seen()).not.toContain("usr2");
        process.kill("SIGCONT");
        await sees("usr2");
        for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const) {
          const one = await talk(context, sandbox, ["sh", "-c", "echo begun; exec sleep 987"], {});
          await one.sees("begun");
          one.process.kill(signal);
          expect(await endOf(one.process)).toBe(`signalled ${signal}`);
        }
        process.kill("SIGKILL");
        await process.result;
        const early = await sandbox.start(["sleep", "987"], OPTIONS);
        early.kill("SIGTERM");
        expect(await endOf(early)).toBe("signalled SIGTERM");
      }),
  },
  {
    number: 77,
    title: "the list of processes names those of every user, and what a command left is counted",
    run: (context) =>
      context.with(async (sandbox) => {
        expect(await sandbox.processes()).toEqual([]);
        const started = await sandbox.start("echo 'a b'; sleep 987; true", { ...OPTIONS, user: "agent" });
        const left = await sandbox.exec("sleep 986 & sleep 985 & true", OPTIONS);
        expect(left).toMatchObject({ exitCode: 0, processesLeft: 2 });
        expect(await sandbox.exec("true", OPTIONS)).toMatchObject({ processesLeft: 0 });
        const expected = [
          "0 sleep 985",
          "0 sleep 986",
          "1000 /bin/sh -c echo 'a b'; sleep 987; true",
          "1000 sleep 987",
        ];
        let all = await sandbox.processes();
        await context.until("all are listed", async () => {
          all = await sandbox.processes();
          const lines = all.map(({ uid, command }) => `${uid} ${command}`).sort();
          return JSON.stringify(lines) === JSON.stringify(expected);
        });
        const parent = all.find(({ command }) => command.startsWith("/bin/sh"));
        expect(all.find(({ command }) => command === "sleep 987")?.parentPid).toBe(parent?.pid);
        for (const one of all) expect(one.memoryBytes).toBeGreaterThan(0);
        started.kill("SIGKILL");
        await started.result;
        expect((await sandbox.exec("sleep 987 & sleep 987", { ...OPTIONS, timeoutMs: 200 })).processesLeft).toBe(0);
      }),
  },
];
