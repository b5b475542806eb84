/**
 * The application: what each command does, over the adapters that `app-parts.ts` wires. Commands only parse, call one
 * of these, and print.
 */
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { buildNative, type NativeBuild } from "../native/build.ts";
import { checkAll } from "./app-check.ts";
import { evaluateTarget } from "./app-evaluate.ts";
import { codeVersion, openGenerator, packageFolder, runtime } from "./app-parts.ts";
import { reviewFinding as addReview, detectAgain, regrade as regradeStored } from "./app-regrade.ts";
import { importInto, lockSet, newTask as makeTask, showSet, generateTasks as writeGenerated } from "./app-tasks.ts";
import { resumeTraining, startTraining } from "./app-train.ts";
import { Failure } from "./core/errors.ts";
import type { ProbeLine, ProbeReport, SandboxProvider } from "./core/sandbox.ts";
import type { Store } from "./core/store.ts";
import type { Task } from "./core/task.ts";
import { METRICS } from "./observe/catalogue.ts";
import { bwrapProvider } from "./sandbox/provider-bwrap.ts";
import { dockerProvider } from "./sandbox/provider-docker.ts";
import { namespaceProvider } from "./sandbox/provider-namespace.ts";
import { openStore } from "./store/open-store.ts";
import { CATALOGUE } from "./task/check/catalogue.ts";
import { findTasks } from "./task/find-tasks.ts";
import { taskJsonSchema } from "./task/json-schema.ts";
import { listTasks as readEntries } from "./task/list/list-tasks.ts";
import type { TaskEntry } from "./task/list/task-entry.ts";
import { readTaskFolder, writeManifest } from "./task/read-folder.ts";

export const train = startTraining;
export const resume = resumeTraining;
export const evaluate = evaluateTarget;
export const checkTasks = checkAll;
/** The 51 checks of `task check`. */
export const checkCatalogue = CATALOGUE;
export type { CheckReport, CheckResult } from "./task/check/check-report.ts";
export const regrade = regradeStored;
export const detect = detectAgain;
export const reviewFinding = addReview;
/** Every task and generator at or below a folder, validated. Throws `task_not_found` where there is none. */
export function listTasks(root: string): Promise<readonly TaskEntry[]> {
  return readEntries(root, { openGenerator, threads: availableParallelism() });
}

export const generateTasks = writeGenerated;
export const showTaskSet = showSet;
export const lockTaskSet = lockSet;
export const importTasks = importInto;
export const newTask = makeTask;
export const taskSchema = taskJsonSchema;
/** Of the package. */
export function version(): string {
  return codeVersion().sandlot;
}

/** Every metric a run stores, with its meaning. */
export const metricCatalogue = METRICS;

/** Reads one task. Throws `task_not_found` for a generator, and for a folder that only holds tasks. */
export async function showTask(path: string): Promise<Task> {
  const [first] = await findTasks(path);
  if (first?.path !== ".") {
    throw new Failure("task_not_found", `${path} holds tasks but is none. Name one of them, such as ${first?.folder}.`);
  }
  if (first.kind === "folder") return readTaskFolder(path);
  throw new Failure("task_not_found", `${path} is a generator: it makes its tasks from seeds. Evaluate some of them.`);
}

/** Writes the test manifest of every task folder at or below the targets; gives one line for each. */
export async function writeManifests(targets: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { kind, folder } of (await Promise.all(targets.map(findTasks))).flat()) {
    if (kind !== "folder") continue;
    const tests = await writeManifest(folder);
    lines.push(`${folder}/tests/manifest.json written: ${tests.length} tests`);
  }
  return lines;
}

/** Where records live: SANDLOT_DATA, else `.sandlot` in the working folder. */
export function dataFolder(envVars: Readonly<Record<string, string | undefined>>): string {
  const named = envVars["SANDLOT_DATA"];
  return resolve(named === undefined || named === "" ? ".sandlot" : named);
}

/** Reads while a run writes. Throws `not_found` when the folder holds no data. */
export function openReader(folder: string): Promise<Store> {
  return openStore({ folder, runtime, mode: "reader" });
}

/** What this machine can do, per sandbox provider. */
export async function doctor(): Promise<readonly ProbeReport[]> {
  const first = await probeOf(namespaceProvider({ runtime }));
  const others = [await probeOf(bwrapProvider({ runtime })), await probeOf(dockerProvider({ runtime }))];
  /* One provider is enough for a run; the others are offers. */
  return [first, ...others.map((report) => ({ ...report, lines: report.lines.map(asOffer) }))];
}

async function probeOf(provider: SandboxProvider): Promise<ProbeReport> {
  try {
    return await provider.probe();
  } finally {
    await provider.close();
  }
}

function asOffer(line: ProbeLine): ProbeLine {
  return { ...line, required: false };
}

/** Builds the native parts that are not built yet; tells one line each. */
export async function setup(onLine: (line: string) => void): Promise<readonly NativeBuild[]> {
  const builds: NativeBuild[] = [];
  for (const part of ["helper", "engine"] as const) {
    const build = await buildNative(part);
    const how = build.isFresh
      ? `built in ${(build.durationMs / 1_000).toFixed(1)} s with ${build.compiler}`
      : "already built";
    onLine(`${part}: ${how}`);
    builds.push(build);
  }
  return builds;
}

/** Folder of a task or recipe shipped with the package. */
export function shippedFolder(name: "tasks" | "recipes"): string {
  return join(packageFolder(), name);
}
