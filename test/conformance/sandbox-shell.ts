/** The kept shell: state that lasts, ends that cannot be forged, timeouts that spare what they can. */
import { expect } from "vitest";
import type { Shell } from "../../src/core/exec.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { OPTIONS, processLines, text } from "./sandbox-parts.ts";

const RUN = { timeoutMs: 20_000, outputBytesMax: 100_000 };

const withShell = (boxes: CaseContext, use: (shell: Shell, sandbox: Sandbox) => Promise<void>): Promise<void> =>
  boxes.with(async (sandbox) => use(await sandbox.shell({ user: "agent" }), sandbox));

export const SHELL_CASES: readonly ConformanceCase[] = [
  {
    number: 70,
    title: "a shell keeps folder, variables, functions and the last status from run to run",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        await shell.run("cd /tmp; x=5; export Y=6; f() { echo f$1; }", RUN);
        const result = await shell.run("pwd; echo $x; sh -c 'echo $Y'; f 7; id -un", RUN);
        expect(text(result.output)).toBe("/tmp\n5\n6\nf7\nagent\n");
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0, restarted: false });
        expect(await shell.run("(exit 9)", RUN)).toMatchObject({ exitCode: 9, restarted: false });
      }),
  },
  {
    number: 70,
    part: "b",
    title: "a shell gives output and errors in the order they were written",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        const result = await shell.run("for i in 1 2 3; do echo out$i; echo err$i >&2; done", RUN);
        expect(text(result.output)).toBe("out1\nerr1\nout2\nerr2\nout3\nerr3\n");
      }),
  },
  {
    number: 70,
    part: "c",
    title: "a shell survives syntax errors, stray loop words, quotes and commands that read input",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        expect((await shell.run("if then fi (", RUN)).exitCode).not.toBe(0);
        expect((await shell.run("echo 'it''s' \"$((1+1))\" `echo back`", RUN)).exitCode).toBe(0);
        expect(text((await shell.run("break; continue; echo on", RUN)).output)).toContain("on\n");
        expect(text((await shell.run("cat; read x; echo end", RUN)).output)).toBe("end\n");
        expect(text((await shell.run("cat <<'E'\n$here\n'doc'\nE", RUN)).output)).toBe("$here\n'doc'\n");
        expect(text((await shell.run("", RUN)).output)).toBe("");
        expect(text((await shell.run("echo still", RUN)).output)).toBe("still\n");
      }),
  },
  {
    number: 35,
    part: "e",
    title: "a command that imitates a report cannot end another run or forge its code",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        const forge =
          "for fd in 3 10 11 12 62 200 201 255; do { echo 0123456789abcdef 0 >&$fd; } 2>/dev/null; done; (exit 6)";
        expect(await shell.run(forge, RUN)).toMatchObject({ exitCode: 6 });
        const child = await shell.run("ls /proc/self/fd | tr '\\n' ' '", RUN);
        expect(text(child.output)).toBe("0 1 2 3 ");
        expect(text((await shell.run("echo next", RUN)).output)).toBe("next\n");
      }),
  },
  {
    number: 70,
    part: "d",
    title: "a timeout ends the command's processes and keeps the shell where it can",
    run: (boxes) =>
      withShell(boxes, async (shell, sandbox) => {
        await shell.run("cd /tmp; sleep 111 & x=1", RUN);
        const result = await shell.run("echo begun; setsid sleep 987; sleep 987", { ...RUN, timeoutMs: 300 });
        expect(result).toMatchObject({ verdict: "timed_out", timedOut: true, exitCode: null });
        expect(text(result.output)).toContain("begun");
        expect((await processLines(sandbox)).filter((line) => line.includes("987"))).toEqual([]);
        expect(text((await shell.run("pwd; echo $x; jobs -r | wc -l", RUN)).output)).toBe("/tmp\n1\n1\n");
      }),
  },
  {
    number: 70,
    part: "e",
    title: "a timeout of a loop in the shell itself restarts the shell and says so",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        await shell.run("x=1", RUN);
        const result = await shell.run("while :; do :; done", { ...RUN, timeoutMs: 200 });
        expect(result).toMatchObject({ verdict: "timed_out", restarted: true, exitCode: null });
        expect(text((await shell.run("echo [$x]; pwd", RUN)).output)).toBe("[]\n/home/agent\n");
      }),
  },
  {
    number: 70,
    part: "f",
    title: "a shell that exits, or is killed, is started again by the next run",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        expect(await shell.run("echo bye; exit 3", RUN)).toMatchObject({
          verdict: "exited",
          exitCode: 3,
          restarted: true,
        });
        expect(await shell.run("kill -9 $$", RUN)).toMatchObject({
          verdict: "signalled",
          exitCode: null,
          restarted: true,
        });
        expect(await shell.run("exec true", RUN)).toMatchObject({ verdict: "exited", exitCode: 0, restarted: true });
        expect(await shell.run("set -e; false", RUN)).toMatchObject({ restarted: true });
        expect(text((await shell.run("echo back", RUN)).output)).toBe("back\n");
      }),
  },
  {
    number: 70,
    part: "g",
    title: "background children live on between runs, and their late output comes with the next run",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        await shell.run("(sleep 0.1; echo late; echo > /tmp/mark) &", RUN);
        const result = await shell.run("until [ -e /tmp/mark ]; do sleep 0.02; done; echo now", RUN);
        expect(text(result.output)).toBe("late\nnow\n");
      }),
  },
  {
    number: 70,
    part: "h",
    title: "output beyond the cap is cut and counted",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        const result = await shell.run("head -c 500000 /dev/zero; echo end", { ...RUN, outputBytesMax: 1_000 });
        expect(result).toMatchObject({ exitCode: 0, outputBytesTruncated: 500_004 - 1_000 });
        expect(result.output.length).toBe(1_000);
      }),
  },
  {
    number: 20,
    part: "e",
    title: "a command killed for memory is told by the counter, and the shell lives on",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        const result = await shell.run("python3 -c 'b = bytearray(400 << 20)'", RUN);
        expect(result).toMatchObject({ verdict: "oom_killed", oomKilled: true, restarted: false });
        expect(await shell.run("(exit 137)", RUN)).toMatchObject({
          verdict: "exited",
          exitCode: 137,
          oomKilled: false,
        });
      }),
  },
  {
    number: 70,
    part: "i",
    title: "a cancelled run ends, and closing the shell ends what it started",
    run: (boxes) =>
      withShell(boxes, async (shell, sandbox) => {
        const controller = new AbortController();
        const running = shell.run("sleep 987", { ...RUN, signal: controller.signal });
        controller.abort();
        expect(await running).toMatchObject({ verdict: "cancelled", exitCode: null });
        await shell.run("sleep 987 & true", RUN);
        await shell.close();
        expect(await processLines(sandbox)).toEqual([]);
        await expect(shell.run("true", RUN)).rejects.toMatchObject({ code: "sandbox_busy" });
        expect(await sandbox.exec("true", OPTIONS)).toMatchObject({ exitCode: 0 });
      }),
  },
  {
    number: 70,
    part: "j",
    title: "one run at a time",
    run: (boxes) =>
      withShell(boxes, async (shell) => {
        const running = shell.run("sleep 0.2", RUN);
        await expect(shell.run("true", RUN)).rejects.toMatchObject({ code: "sandbox_busy" });
        expect(await running).toMatchObject({ exitCode: 0 });
      }),
  },
];
