/** Cases 7 to 31: processes, memory, processor and disk have ends, and reaching one is told by the kernel's counter. */
import { expect, test } from "vitest";
import { type Boxes, MIB, OPTIONS, output, REQUEST, text } from "./sandbox-parts.ts";

const python = (script: string): readonly string[] => ["python3", "-c", script];
const GRAB = "b = bytearray(400 << 20)";

export function limitsConformance(boxes: Boxes): void {
  test("8. a chain of forks is stopped by the process limit, which is counted", () =>
    boxes.with(async (sandbox) => {
      const script = [
        "import os, time",
        "made = 0",
        "try:",
        "  while True:",
        "    if os.fork() == 0: time.sleep(987)",
        "    made += 1",
        "except BlockingIOError: print(made)",
      ].join("\n");
      const result = await sandbox.exec(python(script), { ...OPTIONS, descendants: "kill" });
      expect(Number(text(result.stdout))).toBeLessThan(REQUEST.limits.processesMax);
      expect(result.processLimitHits).toBeGreaterThan(0);
      expect(await output(sandbox, "echo alive")).toBe("alive\n");
    }));

  test("10. a thread bomb is counted by the same limit", () =>
    boxes.with(async (sandbox) => {
      const script = [
        "import threading, time",
        "try:",
        "  while True: threading.Thread(target=time.sleep, args=(987,), daemon=True).start()",
        "except RuntimeError: print(threading.active_count())",
        "import os; os._exit(0)",
      ].join("\n");
      const result = await sandbox.exec(python(script), OPTIONS);
      expect(Number(text(result.stdout))).toBeLessThanOrEqual(REQUEST.limits.processesMax);
      expect(result.processLimitHits).toBeGreaterThan(0);
    }));

  test("10b. a command that finds the sandbox full of processes cannot start, and says why", () =>
    boxes.with(async (sandbox) => {
      const fill = "i=0; while [ $i -lt 100 ]; do sleep 987 & i=$((i+1)); done";
      const filling = await sandbox.start(["bash", "-c", `${fill}; sleep 987`], OPTIONS);
      while (((await sandbox.stats()).processes ?? 0) < REQUEST.limits.processesMax)
        await new Promise((resolve) => setTimeout(resolve, 10));
      const result = await sandbox.exec(["true"], OPTIONS);
      expect(result).toMatchObject({ verdict: "start_failed", startError: "process_limit" });
      filling.kill("SIGKILL");
      await filling.result;
    }));

  test("19. an allocation above the limit is an OOM kill by the kernel's own counter", () =>
    boxes.with(async (sandbox) => {
      const result = await sandbox.exec(python(GRAB), OPTIONS);
      expect(result).toMatchObject({ verdict: "oom_killed", oomKilled: true, exitCode: null, signal: "SIGKILL" });
    }));

  test("20. the OOM kill of a grandchild is told though the command lives on", () =>
    boxes.with(async (sandbox) => {
      const result = await sandbox.exec(`python3 -c '${GRAB}' & wait; echo survived`, OPTIONS);
      expect(result).toMatchObject({ verdict: "exited", exitCode: 0, oomKilled: true });
      expect(text(result.stdout)).toContain("survived");
    }));

  test("22. after an OOM kill the sandbox is usable", () =>
    boxes.with(async (sandbox) => {
      await sandbox.exec(python(GRAB), OPTIONS);
      expect(await sandbox.exec("echo alive", OPTIONS)).toMatchObject({ exitCode: 0, oomKilled: false });
      expect((await sandbox.stats()).oomKills).toBeGreaterThan(0);
    }));

  test("23. filling /tmp and /dev/shm meets a full disk and not the OOM killer", () =>
    boxes.with(async (sandbox) => {
      const fill = (path: string) => sandbox.exec(`head -c 1G /dev/zero > ${path}`, OPTIONS);
      for (const path of ["/tmp/fill", "/dev/shm/fill"]) {
        const result = await fill(path);
        expect(text(result.stderr)).toContain("No space left");
        expect(result.oomKilled).toBe(false);
      }
    }));

  test("24. a full disk is a value for the file API, and the sandbox can be destroyed", () =>
    boxes.with(async (sandbox) => {
      await sandbox.exec("head -c 1G /dev/zero > /fill", OPTIONS);
      const written = await sandbox.files.write({ path: "/app/big", bytes: new Uint8Array(MIB), mode: 0o644 });
      expect(written).toMatchObject({ ok: false, error: "no_space" });
      expect(await output(sandbox, "ls -A /app")).toBe("");
    }));

  test("25. a flood of empty files meets the file limit", () =>
    boxes.with(async (sandbox) => {
      const script =
        "import os\nn = 0\ntry:\n  while True: open(f'/tmp/{n}', 'w').close(); n += 1\nexcept OSError as e: print(n, e.errno)";
      const [made = 0, errno] = (await output(sandbox, python(script))).split(" ").map(Number);
      expect(errno).toBe(28);
      expect(made).toBeLessThanOrEqual(REQUEST.limits.filesMax + 16);
    }));

  test("26. a sparse terabyte is too large to read and costs the host nothing", () =>
    boxes.with(async (sandbox) => {
      await output(sandbox, "truncate -s 1T /tmp/sparse");
      expect(await sandbox.files.read("/tmp/sparse", { bytesMax: MIB })).toMatchObject({
        ok: false,
        error: "too_large",
      });
    }));

  test("28. a busy loop gets no more processor than its share", () =>
    boxes.with(
      async (sandbox) => {
        const burn =
          "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nprint(time.process_time())";
        const used = Number(await output(sandbox, python(burn)));
        expect(used).toBeLessThan(0.65);
      },
      { limits: { ...REQUEST.limits, cpus: 0.5 } },
    ));

  test("31. /dev/shm has the size that was asked for", () =>
    boxes.with(async (sandbox) => {
      expect(Number(await output(sandbox, "df -B1 --output=size /dev/shm | tail -1"))).toBe(REQUEST.limits.shmBytes);
    }));

  test("what cannot be kept is refused by name", async () => {
    const refused = (request: Parameters<Boxes["create"]>[0]) => expect(boxes.create(request)).rejects;
    await refused({ isolationMin: "vm" }).toMatchObject({ code: "isolation_too_weak" });
    await refused({ network: { mode: "open" } }).toMatchObject({ code: "unsupported" });
    await refused({ image: "no-such-image" }).toMatchObject({ code: "image_unavailable" });
    await refused({ limits: { ...REQUEST.limits, memoryBytes: 0 } }).toMatchObject({ code: "request_invalid" });
  });
}
