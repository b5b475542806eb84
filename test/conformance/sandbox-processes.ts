/** Cases 1 to 18, 61 and 62: processes, time, and the end of a sandbox. */
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { OPTIONS, output, processLines, REQUEST, text } from "./sandbox-parts.ts";

export const PROCESS_CASES: readonly ConformanceCase[] = [
  {
    number: 1,
    title: "a command past its time limit is ended and leaves no process",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("sleep 987 & echo begun; sleep 987", { ...OPTIONS, timeoutMs: 200 });
        expect(result).toMatchObject({ verdict: "timed_out", timedOut: true, exitCode: null, signal: null });
        expect(text(result.stdout)).toBe("begun\n");
        expect(await processLines(sandbox)).toEqual([]);
      }),
  },
  {
    number: 1,
    part: "b",
    title: "a command that is silent for too long is ended with its output kept",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("echo one; sleep 987", { ...OPTIONS, idleOutputMs: 150 });
        expect(result).toMatchObject({
          verdict: "idle_timed_out",
          idleTimedOut: true,
          timedOut: false,
          exitCode: null,
        });
        expect(text(result.stdout)).toBe("one\n");
      }),
  },
  {
    number: 2,
    title: "a doubly forked grandchild in its own session is ended by the timeout too",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = "setsid sh -c 'setsid sleep 987 >/dev/null 2>&1 & exit 0' & sleep 987";
        const result = await sandbox.exec(script, { ...OPTIONS, timeoutMs: 300 });
        expect(result.verdict).toBe("timed_out");
        expect(await processLines(sandbox)).toEqual([]);
      }),
  },
  {
    number: 3,
    title: "a command that ignores TERM, HUP and INT is killed after the grace and counts as timed out",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = "trap '' TERM HUP INT; while :; do sleep 0.05; done";
        const result = await sandbox.exec(script, { ...OPTIONS, timeoutMs: 200, killGraceMs: 100 });
        expect(result).toMatchObject({ verdict: "timed_out", signal: null, exitCode: null, oomKilled: false });
        expect(await processLines(sandbox)).toEqual([]);
      }),
  },
  {
    number: 3,
    part: "b",
    title: "a command that heeds TERM may finish its work within the grace",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
        const result = await sandbox.exec(script, { ...OPTIONS, timeoutMs: 300, killGraceMs: 5_000 });
        expect(result.verdict).toBe("timed_out");
        expect(text(result.stdout)).toBe("ready\nsaved\n");
      }),
  },
  {
    number: 4,
    title: "a child that keeps standard output open does not hold the command up, and lives on",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("sleep 987 & echo done", OPTIONS);
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0 });
        expect(text(result.stdout)).toBe("done\n");
        /* Between its fork and its exec a child has no words of its own. */
        let lines = await processLines(sandbox);
        for (let tries = 0; lines.length === 0 && tries < 100; tries += 1) lines = await processLines(sandbox);
        expect(lines).toEqual(["sleep 987"]);
      }),
  },
  {
    number: 4,
    part: "b",
    title: "a kept child that goes on writing is not ended by a broken pipe",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await sandbox.exec("(sleep 0.1; echo late; echo alive > /tmp/mark) & echo done", OPTIONS);
        expect(await output(sandbox, "until [ -s /tmp/mark ]; do sleep 0.02; done; cat /tmp/mark")).toBe("alive\n");
      }),
  },
  {
    number: 4,
    part: "c",
    title: "descendants are ended with the command when asked",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("setsid sleep 987 & echo done", { ...OPTIONS, descendants: "kill" });
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0 });
        expect(await processLines(sandbox)).toEqual([]);
      }),
  },
  {
    number: 5,
    title: "a child that keeps standard input open disturbs no later command",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const input = new Uint8Array(3 << 20);
        const result = await sandbox.exec("sleep 987 <&0 & echo done", { ...OPTIONS, input });
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0, processesLeft: 1 });
        expect(text(result.stdout)).toBe("done\n");
        expect(await output(sandbox, "cat", { input: Buffer.from("later") })).toBe("later");
        expect(await output(sandbox, "cat")).toBe("");
        expect(await processLines(sandbox)).toEqual(["sleep 987"]);
      }),
  },
  {
    number: 6,
    title: "a command that stops itself still meets its timeout",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("kill -STOP $$", { ...OPTIONS, timeoutMs: 200, killGraceMs: 50 });
        expect(result.verdict).toBe("timed_out");
      }),
  },
  {
    number: 9,
    title: "ten thousand short children leave no zombie",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script =
          "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done; for j in 1 2 3; do setsid true & done; echo $i";
        expect(await output(sandbox, script, { timeoutMs: 60_000 })).toBe("10000\n");
        /* One that ended this instant is not a zombie yet to worry about; one that stays would hang this command. */
        await output(sandbox, "while grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null; do sleep 0.05; done");
      }),
  },
  {
    number: 11,
    title: "killing everything and PID 1 from inside ends neither the agent nor the sandbox",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await sandbox.exec("sleep 987 & sleep 987 & true", OPTIONS);
        const all = "kill 1; kill -9 1; kill -TERM 1; kill -STOP 1; kill -SEGV 1; kill -9 -1";
        for (const user of ["root", "agent"]) {
          await sandbox.exec(all, { ...OPTIONS, user });
          expect(await output(sandbox, "echo alive")).toBe("alive\n");
        }
        await boxes.until("all others are gone", async () => (await sandbox.processes()).length === 0);
      }),
  },
  {
    number: 13,
    title: "a missing, a folder, a non-executable, a bad interpreter and a missing folder are told apart",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const write = (path: string, content: string, mode: number) =>
          sandbox.files.write({ path, bytes: Buffer.from(content), mode });
        await write("/tmp/plain", "echo hi\n", 0o644);
        await write("/tmp/bad", "#!/no/such/interpreter\n", 0o755);
        const why = async (command: readonly string[], cwd = "/") => {
          const result = await sandbox.exec(command, { ...OPTIONS, cwd });
          expect(result).toMatchObject({ verdict: "start_failed", exitCode: null, signal: null });
          return result.startError;
        };
        expect(await why(["no-such-program"])).toBe("not_found");
        expect(await why(["/tmp/none"])).toBe("not_found");
        expect(await why(["/tmp"])).toBe("is_directory");
        expect(await why(["/tmp/plain"])).toBe("not_executable");
        expect(await why(["/tmp/bad"])).toBe("bad_interpreter");
        expect(await why(["true"], "/no/such/folder")).toBe("bad_cwd");
      }),
  },
  {
    number: 14,
    title: "two hundred commands at once each get exactly their own output",
    run: (boxes) =>
      boxes.with(
        async (sandbox) => {
          const numbers = Array.from({ length: 200 }, (_, index) => index);
          const results = await Promise.all(numbers.map((index) => output(sandbox, `echo ${index}; echo ${index}`)));
          expect(results).toEqual(numbers.map((index) => `${index}\n${index}\n`));
        },
        { limits: limits(600) },
      ),
  },
  {
    number: 15,
    title: "a cancelled command is killed and says so",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const controller = new AbortController();
        const options = { ...OPTIONS, signal: controller.signal, onOutput: () => controller.abort() };
        const result = await sandbox.exec("echo begun; sleep 987", options);
        expect(result).toMatchObject({ verdict: "cancelled", exitCode: null, signal: null });
        expect(await processLines(sandbox)).toEqual([]);
      }),
  },
  {
    number: 15,
    part: "b",
    title: "a started command can be signalled while it runs",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        let begun = (): void => undefined;
        const isBegun = new Promise<void>((resolve) => (begun = resolve));
        const started = await sandbox.start("echo begun; exec sleep 987", { ...OPTIONS, onOutput: () => begun() });
        await isBegun;
        started.kill("SIGINT");
        expect(await started.result).toMatchObject({ verdict: "signalled", signal: "SIGINT", exitCode: null });
      }),
  },
  {
    number: 17,
    title: "a command that ends while it is being ended has exactly one verdict",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        /* Ends from well before the limit to within the grace, where the two meet. */
        const run = (ms: number) => sandbox.exec(["sleep", String(ms / 1000)], { ...OPTIONS, timeoutMs: 60 });
        const verdicts = new Set<string>();
        for (let round = 0; round < 6; round += 1)
          for (const result of await Promise.all([10, 40, 50, 54, 56, 58, 60, 62, 70, 500].map(run))) {
            verdicts.add(result.verdict);
            expect(["exited", "timed_out"]).toContain(result.verdict);
            expect(result.timedOut).toBe(result.verdict === "timed_out");
            expect(result.exitCode).toBe(result.verdict === "exited" ? 0 : null);
            expect([result.signal, result.idleTimedOut, result.startError]).toEqual([null, false, null]);
          }
        expect(verdicts.has("timed_out")).toBe(true);
      }),
  },
  {
    number: 18,
    title: "a clock that is set changes no timeout, and cannot be set from inside",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const jump = "before=$(date +%s); date -s '2040-01-01' >/dev/null 2>&1; echo $? $(($(date +%s) - before))";
        expect(await output(sandbox, jump)).toMatch(/^1 [0-9]\n$/);
        const late = await sandbox.exec("date -s '1999-01-01'; sleep 987", { ...OPTIONS, timeoutMs: 300 });
        expect(late).toMatchObject({ verdict: "timed_out", exitCode: null });
        expect(late.durationMs).toBeGreaterThanOrEqual(300);
      }),
  },
  {
    number: 21,
    title: "a command that kills itself is signalled, and not out of memory",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec("kill -9 $$", OPTIONS);
        expect(result).toMatchObject({ verdict: "signalled", signal: "SIGKILL", exitCode: null, oomKilled: false });
        expect(await sandbox.exec("exit 137", OPTIONS)).toMatchObject({
          verdict: "exited",
          exitCode: 137,
          oomKilled: false,
        });
      }),
  },
  {
    number: 72,
    part: "b",
    title: "a creation that is cancelled says so, before and while it is under way",
    run: async (boxes) => {
      const before = AbortSignal.abort();
      await expect(boxes.provider().create(REQUEST, before)).rejects.toMatchObject({ code: "cancelled" });
      const controller = new AbortController();
      const creating = boxes.provider().create(REQUEST, controller.signal);
      controller.abort();
      await expect(creating).rejects.toMatchObject({ code: "cancelled" });
      expect(await boxes.provider().list()).toEqual([]);
    },
  },
  {
    number: 73,
    title: "a frozen sandbox has no process left, refuses commands and gives out files",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "echo kept > /tmp/kept; (while :; do :; done) & setsid sleep 987 & true");
        const shell = await sandbox.shell({});
        const running = sandbox.exec("sleep 987", OPTIONS);
        await sandbox.freeze();
        expect((await running).exitCode).toBeNull();
        expect((await sandbox.stats()).processes ?? 0).toBe(0);
        for (const call of [
          () => sandbox.exec("true", OPTIONS),
          () => shell.run("true", OPTIONS),
          () => sandbox.shell({}),
        ])
          await expect(call()).rejects.toMatchObject({ code: "sandbox_busy" });
        const kept = await sandbox.files.read("/tmp/kept", { bytesMax: 100 });
        expect(kept.ok && text(kept.value)).toBe("kept\n");
      }),
  },
];

function limits(processesMax: number) {
  return { cpus: 2, memoryBytes: 128 << 20, diskBytes: 16 << 20, filesMax: 2_000, processesMax, shmBytes: 1 << 20 };
}
