/**
 * What earlier runs of `sandlot task check` found, as lines of JSON in the data folder. A failed check stays failed for
 * the same task hash under the same version of the platform, however often it is run again; a run may also resume, and
 * then only what had no final result is run.
 */
import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Finding, Profile } from "./check-contract.ts";
import type { CheckResult } from "./check-report.ts";

/** One result as it is kept. `check` is its id, or `flake` for a count of repeated runs. */
export interface RememberedRow {
  readonly taskHash: string;
  readonly key: string;
  readonly check: string;
  readonly profile: Profile;
  /** Of the platform: another version may judge otherwise. */
  readonly version: string;
  readonly status: Finding["status"];
  readonly severity: "E" | "W";
  readonly evidence: string;
  readonly file: string | null;
  readonly line: number | null;
  /** UTC milliseconds. */
  readonly at: number;
  readonly durationMs: number;
  readonly episodes: number;
  readonly sandboxMs: number;
  /** Of `flake` rows alone. */
  readonly runs?: number;
  readonly flips?: number;
}

/** Rows by task hash. What is remembered is on disk before `remember` answers. */
export interface CheckMemory {
  /** Of one task hash under this version, oldest first. */
  rows(taskHash: string): readonly RememberedRow[];
  remember(rows: readonly RememberedRow[]): Promise<void>;
  /** From now on nothing that was found before counts for this task hash. */
  forget(taskHash: string): Promise<void>;
  readonly version: string;
}

/** A file with more lines is written anew with the worst and the last result of each check alone. */
const LINES_MAX = 20_000;

/** In place of a check: all rows before it are void. */
const FORGOTTEN = "forgotten";

/** The memory of a file, which is made when there is something to remember. Lines that cannot be read are left out. */
export async function openCheckMemory(file: string, version: string): Promise<CheckMemory> {
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  const all = lines.flatMap((line): readonly RememberedRow[] => {
    const row = rowOf(line);
    return row === null ? [] : [row];
  });
  const rows = lines.length > LINES_MAX ? await compacted(file, all) : all;
  const byHash = new Map<string, RememberedRow[]>();
  const add = (row: RememberedRow): void => {
    if (row.version !== version) return;
    const known = byHash.get(row.taskHash);
    if (row.check === FORGOTTEN) byHash.delete(row.taskHash);
    else if (known === undefined) byHash.set(row.taskHash, [row]);
    else known.push(row);
  };
  for (const row of rows) add(row);
  const append = async (added: readonly RememberedRow[]): Promise<void> => {
    if (added.length === 0) return;
    for (const row of added) add(row);
    await mkdir(dirname(file), { recursive: true });
    // One write for each task, so that lines of two processes do not mix.
    await appendFile(file, added.map((row) => `${JSON.stringify(row)}\n`).join(""));
  };
  return {
    version,
    rows: (taskHash) => byHash.get(taskHash) ?? [],
    remember: append,
    forget: async (taskHash) => {
      const [known] = byHash.get(taskHash) ?? [];
      if (known !== undefined) await append([{ ...known, check: FORGOTTEN, status: "skip", evidence: "" }]);
    },
  };
}

async function compacted(file: string, rows: readonly RememberedRow[]): Promise<readonly RememberedRow[]> {
  const kept = new Map<string, RememberedRow>();
  for (const row of rows) {
    const task = [row.version, row.taskHash].join("\n");
    const key = [task, row.check].join("\n");
    if (row.check === FORGOTTEN) {
      for (const known of kept.keys()) if (known.startsWith(`${task}\n`)) kept.delete(known);
    } else if (row.check === "flake") {
      const before = kept.get(key);
      const runs = (before?.runs ?? 0) + (row.runs ?? 0);
      kept.set(key, { ...row, runs, flips: (before?.flips ?? 0) + (row.flips ?? 0) });
    } else if (kept.get(key)?.status !== "fail") kept.set(key, row);
  }
  const fewer = [...kept.values()].slice(-LINES_MAX / 2);
  await writeFile(`${file}.new`, fewer.map((row) => `${JSON.stringify(row)}\n`).join(""));
  await rename(`${file}.new`, file);
  return fewer;
}

function rowOf(line: string): RememberedRow | null {
  try {
    const row = JSON.parse(line) as RememberedRow;
    return typeof row.taskHash === "string" && typeof row.check === "string" ? row : null;
  } catch {
    return null;
  }
}

/** The worst that earlier runs found of a check, where that was a fault; null otherwise. */
export function rememberedFault(rows: readonly RememberedRow[], check: string): RememberedRow | null {
  return rows.findLast((row) => row.check === check && row.status === "fail") ?? null;
}

/** The last final result of a check: what a resumed run need not run again. */
export function finalResult(rows: readonly RememberedRow[], check: string): RememberedRow | null {
  const last = rows.findLast((row) => row.check === check);
  return last === undefined || last.status === "not-assessed" ? null : last;
}

/** The repeated runs that earlier runs counted. */
export function countedFlips(rows: readonly RememberedRow[]): { readonly runs: number; readonly flips: number } {
  const counts = rows.filter(({ check }) => check === "flake");
  return {
    runs: counts.reduce((sum, { runs = 0 }) => sum + runs, 0),
    flips: counts.reduce((sum, { flips = 0 }) => sum + flips, 0),
  };
}

/** A result as it is kept. */
export function rowOfResult(
  result: CheckResult,
  task: { readonly key: string; readonly hash: string },
  how: { readonly profile: Profile; readonly version: string; readonly at: number },
): RememberedRow {
  const { id, status, severity, evidence, file, line, durationMs, episodes, sandboxMs } = result;
  const { profile, version, at } = how;
  const judged = { status, severity, evidence, file, line, durationMs, episodes, sandboxMs };
  return { taskHash: task.hash, key: task.key, check: id, profile, version, at, ...judged };
}
