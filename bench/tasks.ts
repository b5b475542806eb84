/**
 * How fast tasks are listed and validated: copies of every shipped task and of drawn ones, 5,000 folders in all, read by
 * one thread and by all processors in turn. `SANDLOT_BENCH_SCALE` sets the number of folders.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openGenerator } from "../src/app-parts.ts";
import { systemRuntime } from "../src/runtime/system.ts";
import { findTasks } from "../src/task/find-tasks.ts";
import { readFolderFiles } from "../src/task/folder-files.ts";
import { writesFolders } from "../src/task/folder-generator.ts";
import { listTasks } from "../src/task/list/list-tasks.ts";
import { writeFolder } from "../src/task/write-folder.ts";

const FOLDERS = Math.max(50, Math.round(5_000 * Number(process.env["SANDLOT_BENCH_SCALE"] ?? "1")));
const ROUNDS = 5;
const DRAWN = 40;

export interface TasksBench {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  readonly loadBefore: readonly number[];
  readonly loadAfter: readonly number[];
  readonly folders: number;
  readonly files: number;
  /** Seconds of each round. */
  readonly oneThread: readonly number[];
  readonly allThreads: readonly number[];
  /** Tasks a second at the median. */
  readonly perSecond: { readonly oneThread: number; readonly allThreads: number };
  readonly memoryMiB: number;
  /** Drawn and read again, a second, by generator. */
  readonly drawnPerSecond: Readonly<Record<string, number>>;
}

export async function run(): Promise<TasksBench> {
  const loadBefore = loadavg();
  const now = systemRuntime().monotonic;
  const root = await mkdtemp(join(tmpdir(), "sandlot-bench-tasks-"));
  try {
    const files = await fill(root);
    const times = { one: [] as number[], all: [] as number[] };
    const threads = availableParallelism();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, count] of [
        ["one", 1],
        ["all", threads],
      ] as const) {
        const from = now();
        const entries = await listTasks(root, { openGenerator, threads: count });
        times[name].push((now() - from) / 1_000);
        const bad = entries.find(({ fault }) => fault !== null);
        if (bad !== undefined || entries.length !== FOLDERS)
          throw new Error(bad?.fault ?? `${entries.length} were listed`);
      }
    }
    const memoryMiB = process.memoryUsage().rss / 2 ** 20;
    const result: TasksBench = {
      ...{
        cores: threads,
        cpu: cpus()[0]?.model ?? "unknown",
        node: process.version,
        loadBefore,
        loadAfter: loadavg(),
      },
      ...{ folders: FOLDERS, files, oneThread: times.one, allThreads: times.all, memoryMiB },
      perSecond: { oneThread: FOLDERS / median(times.one), allThreads: FOLDERS / median(times.all) },
      drawnPerSecond: await drawing(now),
    };
    print(result);
    return result;
  } finally {
    await rm(root, { recursive: true });
  }
}

/** Copies of every shipped task under other names; gives the number of files. */
async function fill(root: string): Promise<number> {
  const shipped = (await findTasks("tasks")).filter(({ kind }) => kind === "folder");
  const read = await Promise.all(shipped.map(async ({ folder }) => readFolderFiles(folder)));
  let files = 0;
  for (let index = 0; index < FOLDERS; index += 1) {
    const source = read[index % read.length] ?? [];
    await writeFolder(join(root, `task-${index}`), source);
    files += source.length;
  }
  return files;
}

async function drawing(now: () => number): Promise<Readonly<Record<string, number>>> {
  const rates: Record<string, number> = {};
  for (const { folder } of (await findTasks("tasks/generator")).filter(({ kind }) => kind === "generator")) {
    const generator = await openGenerator(folder);
    if (!writesFolders(generator)) continue;
    const from = now();
    for (let index = 0; index < DRAWN; index += 1) generator.generate({ split: "train", index, seed: 1n });
    rates[generator.name] = (DRAWN * 1_000) / (now() - from);
  }
  return rates;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function print({
  folders,
  files,
  oneThread,
  allThreads,
  perSecond,
  memoryMiB,
  drawnPerSecond,
  cores,
  loadBefore,
}: TasksBench): void {
  const seconds = (times: readonly number[]): string =>
    `${median(times).toFixed(2)} s (${Math.max(...times).toFixed(2)} at most)`;
  console.log(
    `${folders} folders with ${files} files listed and validated, median of ${ROUNDS}; load average ${loadBefore[0]?.toFixed(1)}`,
  );
  console.log(`one thread    ${seconds(oneThread)}, ${perSecond.oneThread.toFixed(0)} tasks/s`);
  console.log(
    `${cores} threads     ${seconds(allThreads)}, ${perSecond.allThreads.toFixed(0)} tasks/s; ${memoryMiB.toFixed(0)} MiB`,
  );
  for (const [name, rate] of Object.entries(drawnPerSecond))
    console.log(`drawn and read  ${name.padEnd(24)} ${rate.toFixed(0)} tasks/s`);
}

if (import.meta.main) console.log(JSON.stringify(await run()));
