/**
 * Checks everything found below the folders a person names: task folders, and of each generator a few drawn tasks that
 * are judged as one. Several tasks are in work at once; reports are told in the order the tasks were found.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { failureClass, toFailure } from "../../core/errors.ts";
import type { Task, TaskGenerator } from "../../core/task.ts";
import type { FolderFile } from "../../core/task-folder.ts";
import { type FoundTask, findTasks } from "../find-tasks.ts";
import { readFolderFiles } from "../folder-files.ts";
import { splitOfSeed, writesFolders } from "../folder-generator.ts";
import { readTask, taskOfFiles } from "../read-folder.ts";
import { CATALOGUE } from "./catalogue.ts";
import type { PeerTask } from "./check-contract.ts";
import { type CheckReport, checkResult, flakeRate, mergedChecks, totalCost, verdictOf } from "./check-report.ts";
import { type CheckedTask, type CheckOptions, checkTask, placeOf } from "./run-checks.ts";
import { hiddenText } from "./static/test-sources.ts";

export interface CheckRootsOptions extends CheckOptions {
  /** Opens the generator of a folder. Throws `task_invalid`. */
  readonly openGenerator: (folder: string) => Promise<TaskGenerator>;
  /** Drawn tasks of each generator that are checked, over its splits. */
  readonly seeds: number;
  /** Tasks in work at once. */
  readonly tasksAtOnce: number;
  /** Told once for each report, in order. */
  readonly onReport?: (report: CheckReport) => void;
}

/** What was found at one place: the tasks to check, or why there are none. */
interface Opened {
  readonly entry: FoundTask;
  readonly key: string;
  readonly tasks: readonly Omit<CheckedTask, "peers">[];
  /** Of a generator: whether equal seeds gave equal tasks. */
  readonly isRepeatable: boolean;
  readonly unreadable: CheckReport | null;
}

const FOLDER_VALID = CATALOGUE.find(({ id }) => id === "folder-valid");

/** Checks everything found at or below each root, in order. Throws `task_not_found` when a root holds nothing. */
export async function checkRoots(
  roots: readonly string[],
  options: CheckRootsOptions,
): Promise<readonly CheckReport[]> {
  const all = (await Promise.all(roots.map(findTasks))).flat();
  const found = all.filter((entry, index) => index === all.findIndex((other) => isSameFolder(entry, other)));
  const opened: Opened[] = [];
  for (const entry of found) opened.push(await open(entry, options));
  // Only the largest profile judges between tasks.
  const peers =
    options.profile === "release" ? opened.flatMap(({ tasks }) => tasks.map(({ task }) => peerOf(task))) : [];
  const keys = new Map<string, string>();
  const reports: CheckReport[] = [];
  for await (const report of inOrder(opened, options.tasksAtOnce, (each) => checkOpened(each, peers, options))) {
    const told = refuseTwin(report, keys);
    options.onReport?.(told);
    reports.push(told);
  }
  return reports;
}

/** Roots may overlap; what is found twice is checked once. */
function isSameFolder(a: FoundTask, b: FoundTask): boolean {
  return resolve(a.folder) === resolve(b.folder);
}

async function open(entry: FoundTask, options: CheckRootsOptions): Promise<Opened> {
  try {
    if (entry.kind === "generator") return draw(entry, await options.openGenerator(entry.folder), options.seeds);
    const files = await readFolderFiles(entry.folder);
    const { task, warnings } = await readTask(entry.folder);
    return { entry, key: task.key, tasks: [{ task, files, warnings }], isRepeatable: true, unreadable: null };
  } catch (error) {
    return { entry, key: entry.folder, tasks: [], isRepeatable: true, unreadable: unreadable(entry, error, options) };
  }
}

/** The tasks at the first places of a generator's splits, each drawn twice. */
function draw(entry: FoundTask, generator: TaskGenerator, seeds: number): Opened {
  const drawn = Array.from({ length: seeds }, (_, index) => {
    const split = generator.splits[index % generator.splits.length] ?? "train";
    const request = { split, index, seed: BigInt(index + 1) };
    const again = drawOne(generator, request);
    const first = drawOne(generator, request);
    return { first, isEqual: first.task.hash === again.task.hash && fileHash(first.files) === fileHash(again.files) };
  });
  return {
    entry,
    key: `generator/${generator.name}`,
    tasks: drawn.map(({ first }) => first),
    isRepeatable: drawn.every(({ isEqual }) => isEqual),
    unreadable: null,
  };
}

function drawOne(
  generator: TaskGenerator,
  request: { readonly split: string; readonly index: number; readonly seed: bigint },
): Omit<CheckedTask, "peers"> {
  if (!writesFolders(generator)) return { task: generator.generate(request), files: null, warnings: [] };
  const written = generator.write({ seed: generator.seedOf(request), dials: {} });
  const { task, warnings } = taskOfFiles(written.name, written.files);
  return { task: { ...task, folder: null }, files: written.files, warnings };
}

function fileHash(files: readonly FolderFile[] | null): string {
  const hash = createHash("sha256");
  for (const { path, bytes, isExecutable } of files ?? []) {
    hash.update(`${path}\n${isExecutable} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

async function checkOpened(
  { entry, key, tasks, isRepeatable, unreadable }: Opened,
  peers: readonly PeerTask[],
  options: CheckRootsOptions,
): Promise<CheckReport> {
  if (unreadable !== null) return unreadable;
  const reports = await Promise.all(
    tasks.map((checked) =>
      checkTask({ ...checked, peers: peers.filter((peer) => peer.hash !== checked.task.hash) }, options),
    ),
  );
  const [only] = reports;
  if (entry.kind === "folder" && only !== undefined) return only;
  const { profile } = options;
  const checks = mergedChecks(reports).map((check) =>
    check.id === "folder-valid" && !isRepeatable
      ? {
          ...check,
          status: "fail" as const,
          evidence: "the same seed gave another task the second time; take all chance from random",
        }
      : check,
  );
  const counted = reports.flatMap(({ flake }) => (flake === null ? [] : [flake]));
  const flake = flakeRate(sumOf(counted, "runs"), sumOf(counted, "flips"));
  const isTimedOut = reports.some(({ verdict }) => verdict === "timeout");
  const isQuarantined = counted.some((each) => each.isQuarantined);
  return {
    key,
    kind: "generator",
    folder: entry.folder,
    hash: null,
    isUnreadable: false,
    profile,
    verdict: verdictOf(checks, profile, { isTimedOut, isQuarantined }),
    checks,
    flake: flake === null ? null : { ...flake, isQuarantined },
    ...totalCost(reports),
  };
}

function sumOf<K extends "runs" | "flips">(counted: readonly Readonly<Record<K, number>>[], field: K): number {
  return counted.reduce((sum, each) => sum + each[field], 0);
}

/** A task that cannot be read is a report too, so that its siblings are checked. */
function unreadable(entry: FoundTask, error: unknown, { profile }: CheckRootsOptions): CheckReport {
  const failure = toFailure(error);
  const isOurs = failureClass(failure.code) === "ours";
  const checks =
    FOLDER_VALID === undefined
      ? []
      : [checkResult(FOLDER_VALID, { status: "fail", evidence: failure.message, ...placeOf(failure) })];
  return {
    key: entry.path === "." ? entry.folder : entry.path,
    kind: entry.kind,
    folder: entry.folder,
    hash: null,
    isUnreadable: true,
    profile,
    verdict: isOurs ? "error" : "invalid",
    checks,
    flake: null,
    ...totalCost(checks),
  };
}

function peerOf(task: Task): PeerTask {
  const { key, hash, instruction, generator } = task;
  // A generator of tasks in memory names the split in the seed itself: `train:1:0`.
  const [named = ""] = generator?.seed.split(":") ?? [];
  const split = generator === null ? null : /^\d+$/.test(named) ? splitOfSeed(generator, BigInt(named)) : named;
  return { key, hash, split, instruction, tests: hiddenText(task) };
}

/** Two tasks of one key cannot be told apart in any record. */
function refuseTwin(report: CheckReport, keys: Map<string, string>): CheckReport {
  const first = keys.get(report.key);
  if (first === undefined || first === report.folder) {
    keys.set(report.key, report.folder ?? "");
    return report;
  }
  const file = `${report.folder}/task.toml`;
  const evidence = `${file}: task.name = "${report.key}" is also the name of ${first}; rename one of them`;
  const checks = report.checks.map((check) =>
    check.id === "folder-valid" ? { ...check, status: "fail" as const, evidence, file } : check,
  );
  return { ...report, checks, verdict: verdictOf(checks, report.profile) };
}

/** What `work` gives of each item, in their order, with at most `atOnce` in work. */
async function* inOrder<T, R>(items: readonly T[], atOnce: number, work: (item: T) => Promise<R>): AsyncGenerator<R> {
  const started: Promise<R>[] = [];
  const start = (): void => {
    const item = items[started.length];
    if (item !== undefined) started.push(work(item));
  };
  while (started.length < Math.min(atOnce, items.length)) start();
  for (let index = 0; index < items.length; index += 1) {
    const next = started[index];
    if (next !== undefined) yield await next;
    start();
  }
}
