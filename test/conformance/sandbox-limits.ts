/** Cases 7 to 31: processes, memory, processor and disk have ends, and reaching one is told by the kernel's counter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { NetworkPolicy, SandboxRequest } from "../../src/core/sandbox.ts";
import type { ConformanceCase } from "./case.ts";
import { MIB, OPTIONS, output, REQUEST, text } from "./sandbox-parts.ts";

const python = (script: string): readonly string[] => ["python3", "-c", script];
/** The design speaks of a million; a refused one costs as much as a made one. */
const FILES_TRIED = process.env["SANDLOT_TEST_SIZE"] === "long" ? 1_000_000 : 60_000;
const GRAB = "b = bytearray(400 << 20)";

/** Beyond the limits of the request, and still cheap where a provider keeps none: a file may take milliseconds there. */
const FILL_BYTES = 8 * REQUEST.limits.diskBytes;
const FLOOD_FILES = REQUEST.limits.filesMax + 200;

export const LIMITS_CASES: readonly ConformanceCase[] = [
  {
    number: 8,
    title: "a chain of forks is stopped by the process limit, which is counted",
    run: (boxes) =>
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
      }),
  },
  {
    number: 10,
    title: "a thread bomb is counted by the same limit",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = [
          "import threading, time",
          "try:",
          "  while True: threading.Thread(target=time.sleep, args=(987,), daemon=True).start()",
          "except RuntimeError: print(threading.active_count(), flush=True)",
          "import os; os._exit(0)",
        ].join("\n");
        const result = await sandbox.exec(python(script), OPTIONS);
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0 });
        expect(Number(text(result.stdout))).toBeLessThanOrEqual(REQUEST.limits.processesMax);
        expect(result.processLimitHits).toBeGreaterThan(0);
      }),
  },
  {
    number: 10,
    part: "b",
    title: "a command that finds the sandbox full of processes cannot start, and says why",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const fill = "i=0; while [ $i -lt 100 ]; do sleep 987 & i=$((i+1)); done";
        const filling = await sandbox.start(["bash", "-c", `${fill}; sleep 987`], OPTIONS);
        while (((await sandbox.stats()).processes ?? 0) < REQUEST.limits.processesMax)
          await new Promise((resolve) => setTimeout(resolve, 10));
        const result = await sandbox.exec(["true"], OPTIONS);
        expect(result).toMatchObject({ verdict: "start_failed", startError: "process_limit" });
        filling.kill("SIGKILL");
        await filling.result;
      }),
  },
  {
    number: 19,
    title: "an allocation above the limit is an OOM kill by the kernel's own counter",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec(python(GRAB), OPTIONS);
        expect(result).toMatchObject({ verdict: "oom_killed", oomKilled: true, exitCode: null, signal: "SIGKILL" });
      }),
  },
  {
    number: 20,
    title: "the OOM kill of a grandchild is told though the command lives on",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const result = await sandbox.exec(`python3 -c '${GRAB}' & wait; echo survived`, OPTIONS);
        expect(result).toMatchObject({ verdict: "exited", exitCode: 0, oomKilled: true });
        expect(text(result.stdout)).toContain("survived");
      }),
  },
  {
    number: 22,
    title: "after an OOM kill the sandbox is usable",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await sandbox.exec(python(GRAB), OPTIONS);
        expect(await sandbox.exec("echo alive", OPTIONS)).toMatchObject({ exitCode: 0, oomKilled: false });
        expect((await sandbox.stats()).oomKills).toBeGreaterThan(0);
      }),
  },
  {
    number: 23,
    title: "filling /tmp and /dev/shm meets a full disk and not the OOM killer",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const fill = (path: string) => sandbox.exec(`head -c ${FILL_BYTES} /dev/zero > ${path}`, OPTIONS);
        for (const path of ["/tmp/fill", "/dev/shm/fill"]) {
          const result = await fill(path);
          expect(text(result.stderr)).toContain("No space left");
          expect(result.oomKilled).toBe(false);
        }
      }),
  },
  {
    number: 24,
    title: "a full disk is a value for the file API, and the sandbox can be destroyed",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await sandbox.exec(`head -c ${FILL_BYTES} /dev/zero > /fill`, OPTIONS);
        const written = await sandbox.files.write({ path: "/app/big", bytes: new Uint8Array(MIB), mode: 0o644 });
        expect(written).toMatchObject({ ok: false, error: "no_space" });
        expect(await output(sandbox, "ls -A /app")).toBe("");
      }),
  },
  {
    number: 25,
    title: "a flood of empty files meets the file limit",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script =
          `n = 0\ntry:\n  while n < ${FLOOD_FILES}: open(f'/tmp/{n}', 'w').close(); n += 1\n  print(n, 0)\n` +
          "except OSError as e: print(n, e.errno)";
        const [made = 0, errno] = (await output(sandbox, python(script))).split(" ").map(Number);
        expect(errno).toBe(28);
        expect(made).toBeLessThanOrEqual(REQUEST.limits.filesMax + 16);
      }),
  },
  {
    number: 25,
    part: "b",
    title: "a limit of many files holds against several times as many, and all are counted",
    run: (boxes) =>
      boxes.with(
        async (sandbox) => {
          const script = [
            "import os",
            "made = refused = 0",
            `for n in range(${FILES_TRIED}):`,
            "  try: os.mknod(f'/tmp/{n}'); made += 1",
            "  except OSError: refused += 1",
            "print(made, refused)",
          ].join("\n");
          const said = await output(sandbox, python(script), { timeoutMs: 500_000 });
          const [made = 0, refused = 0] = said.split(" ").map(Number);
          expect(made + refused).toBe(FILES_TRIED);
          expect(made).toBeLessThanOrEqual(20_000 + 16);
          expect((await sandbox.stats()).files ?? 0).toBeLessThanOrEqual(20_000 + 16);
        },
        { limits: { ...REQUEST.limits, filesMax: 20_000, memoryBytes: 128 * MIB } },
      ),
  },
  {
    number: 26,
    title: "a sparse terabyte is too large to read and costs the host nothing",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "truncate -s 1T /tmp/sparse");
        expect(await sandbox.files.read("/tmp/sparse", { bytesMax: MIB })).toMatchObject({
          ok: false,
          error: "too_large",
        });
        const folder = mkdtempSync(join(tmpdir(), "sandlot-sparse-"));
        try {
          const before = process.memoryUsage().rss;
          const limits = { bytesMax: 8 * MIB, entriesMax: 100 };
          expect(await sandbox.files.download("/tmp", folder, limits)).toMatchObject({ ok: false, error: "too_large" });
          expect(process.memoryUsage().rss - before).toBeLessThan(256 * MIB);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }),
  },
  {
    number: 31,
    title: "/dev/shm has the size that was asked for",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(Number(await output(sandbox, "df -B1 --output=size /dev/shm | tail -1"))).toBe(REQUEST.limits.shmBytes);
      }),
  },
  {
    number: 72,
    title: "what cannot be kept is refused by name",
    run: async (boxes) => {
      const refused = (request: Partial<SandboxRequest>) => expect(boxes.create(request)).rejects;
      await refused({ isolationMin: "vm" }).toMatchObject({ code: "isolation_too_weak" });
      const { network } = boxes.provider().capabilities;
      const policies: readonly NetworkPolicy[] = [{ mode: "open" }, { mode: "allow-list", hosts: ["example.com"] }];
      for (const policy of policies.filter(({ mode }) => !network.includes(mode)))
        await refused({ network: policy }).toMatchObject({ code: "unsupported" });
      await refused({ image: `sha256:${"0".repeat(64)}` }).toMatchObject({ code: "image_unavailable" });
      await refused({ limits: { ...REQUEST.limits, memoryBytes: 0 } }).toMatchObject({ code: "request_invalid" });
    },
  },
];
