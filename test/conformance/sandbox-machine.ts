/**
 * Cases 7 and 27 to 30: a machine that is as large as was asked for, to look at and to take from. The abuse programs
 * of these cases take what they can; what they got, and that neighbour and host do not feel it, is what is looked at.
 */
import { readdirSync } from "node:fs";
import { expect } from "vitest";
import type { Sandbox } from "../../src/core/sandbox.ts";
import { placeProgram } from "../abuse/programs.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { MIB, OPTIONS, output, REQUEST, text } from "./sandbox-parts.ts";

const NO_COMPILER = "This machine has no compiler for the abuse programs.";

/** Most a hog of case 30 may get of each thing; a name that is missing here fails the case. */
const BOUNDS: Readonly<Record<string, number>> = {
  mlock: 8,
  huge: 0,
  shm: 84,
  queues: 1_024,
  keys: 0,
  watchers: 16,
  watches: 8_192,
  terminals: 128,
  contexts: 0,
  files: 4_096,
  pipes: 2_048,
  core: 0,
};

/** Processes the host sees, of whatever sandbox or program. */
function hostProcesses(): number {
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).length;
}

async function bombAndWatch(boxes: CaseContext, bombed: Sandbox, neighbour: Sandbox): Promise<void> {
  const program = await placeProgram(bombed, "forks");
  if (program === null) return boxes.skip(NO_COMPILER);
  const before = hostProcesses();
  const bomb = bombed.exec([program], { ...OPTIONS, timeoutMs: 2_000 });
  let most = 0;
  let isOver = false;
  void bomb.finally(() => (isOver = true)).catch(() => undefined);
  while (!isOver) {
    expect(await output(neighbour, "echo well")).toBe("well\n");
    most = Math.max(most, hostProcesses());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const result = await bomb;
  expect(result).toMatchObject({ timedOut: true, processesLeft: 0 });
  expect(result.processLimitHits).toBeGreaterThan(0);
  /* Other programs of this machine come and go meanwhile; the bomb alone would make thousands. */
  expect(most - before).toBeLessThan(REQUEST.limits.processesMax + 500);
  expect(await output(bombed, "echo alive")).toBe("alive\n");
}

export const MACHINE_CASES: readonly ConformanceCase[] = [
  {
    number: 7,
    title: "a fork bomb is held by the process limit, ended by its time limit, and felt by no neighbour",
    run: (boxes) => boxes.with((bombed) => boxes.with((neighbour) => bombAndWatch(boxes, bombed, neighbour))),
  },
  {
    number: 27,
    title: "what the kernel remembers for a sandbox is charged to it, and no neighbour loses by it",
    run: (boxes) =>
      boxes.with((hog) =>
        boxes.with(async (neighbour) => {
          const program = await placeProgram(hog, "dentries");
          if (program === null) return boxes.skip(NO_COMPILER);
          const result = await hog.exec([program], { ...OPTIONS, timeoutMs: 60_000 });
          expect(result).toMatchObject({ verdict: "exited", exitCode: 0, oomKilled: false });
          const { limits } = boxes.request;
          const most = limits.memoryBytes + limits.diskBytes + limits.shmBytes;
          expect((await hog.stats()).memoryPeakBytes ?? 0).toBeLessThanOrEqual(most);
          expect(await neighbour.exec("echo well", OPTIONS)).toMatchObject({ exitCode: 0, oomKilled: false });
          expect((await neighbour.stats()).oomKills ?? 0).toBe(0);
        }),
      ),
  },
  {
    number: 28,
    title: "a busy loop on all threads gets its share of the processor and no more",
    run: (boxes) =>
      boxes.with(
        async (sandbox) => {
          const burn = "while :; do :; done & while :; do :; done";
          const before = await sandbox.stats();
          const result = await sandbox.exec(burn, { ...OPTIONS, timeoutMs: 2_000, killGraceMs: 10 });
          expect(result.timedOut).toBe(true);
          const after = await sandbox.stats();
          const used = (after.cpuMs ?? result.cpuMs ?? Number.NaN) - (before.cpuMs ?? 0);
          /* So small a share that two loops get more without a quota, however loaded the machine is. */
          expect(used).toBeLessThan(0.1 * 1.1 * result.durationMs + 50);
          /* A loaded machine may give less than the share by itself, and then nothing is held back; but it is counted. */
          expect(after.throttledMs).toBeGreaterThanOrEqual(0);
        },
        { limits: { ...REQUEST.limits, cpus: 0.1 } },
      ),
  },
  {
    number: 29,
    title: "the machine looks as large as its limits: cores, memory and processors",
    run: (boxes) =>
      boxes.with(
        async (sandbox) => {
          const script = [
            "import os",
            "meminfo = dict(line.split(':') for line in open('/proc/meminfo'))",
            "print(len(os.sched_getaffinity(0)), os.cpu_count(), open('/proc/cpuinfo').read().count('processor\\t:'))",
            "print(*[int(meminfo[name].split()[0]) for name in ('MemTotal', 'MemAvailable', 'SwapTotal')])",
          ].join("\n");
          expect(await output(sandbox, ["python3", "-c", script])).toBe("1 1 1\n65536 65536 0\n");
          expect(await output(sandbox, "nproc; getconf _NPROCESSORS_ONLN; getconf _NPROCESSORS_CONF")).toBe(
            "1\n1\n1\n",
          );
          for (const path of ["/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu/online"])
            expect((await sandbox.exec(`echo 9 > ${path}`, OPTIONS)).exitCode, path).not.toBe(0);
          expect((await sandbox.exec("find /sys -name cgroup -o -name kernel | grep .", OPTIONS)).exitCode).not.toBe(0);
        },
        { limits: { ...REQUEST.limits, cpus: 1, memoryBytes: 64 * MIB } },
      ),
  },
  {
    number: 30,
    title: "locked and huge pages, shared memory, queues, keys, watchers, terminals, pipes, files and cores have ends",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const program = await placeProgram(sandbox, "hogs");
        if (program === null) return boxes.skip(NO_COMPILER);
        const result = await sandbox.exec([program], OPTIONS);
        const got = text(result.stdout)
          .trim()
          .split("\n")
          .map((line) => line.split(" "));
        expect(got.map(([what]) => what)).toEqual(Object.keys(BOUNDS));
        for (const [what = "", amount] of got)
          expect(Number(amount), what).toBeLessThanOrEqual(BOUNDS[what] ?? Number.NaN);
        /* Shared memory of the System V kind is held to the size of /dev/shm where the kernel lets it be. */
        expect(await output(sandbox, "echo alive")).toBe("alive\n");
      }),
  },
];
