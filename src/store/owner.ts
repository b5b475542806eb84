/**
 * One process owns a data folder. The owner is a row: its process id with the time that process started, so that a
 * reused id is not taken for it. A dead owner is replaced; a live one is named in the refusal.
 */
import { readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import { inTransaction, one } from "./database.ts";

export interface Owner {
  readonly token: string;
  readonly pid: number;
  readonly since: number;
}

interface OwnerRow extends Owner {
  readonly processStart: string;
}

/**
 * Takes the folder for this process, in one transaction. Throws when a live process owns it, naming that process and
 * since when: `run_live` with the run it holds, `store_locked` when it holds none.
 */
export function takeOwnership(
  database: DatabaseSync,
  { folder, token, since }: { readonly folder: string; readonly token: string; readonly since: number },
): void {
  inTransaction(database, () => {
    const owner = liveOwner(database);
    if (owner !== null) throw refusal(database, folder, owner);
    database
      .prepare("INSERT OR REPLACE INTO owner (id, token, pid, process_start, since) VALUES (1, ?, ?, ?, ?)")
      .run(token, process.pid, processStart(process.pid) ?? "unknown", since);
  });
}

export function giveUpOwnership(database: DatabaseSync, token: string): void {
  inTransaction(database, () => {
    database.prepare("UPDATE run SET owner_token = NULL WHERE owner_token = ?").run(token);
    database.prepare("DELETE FROM owner WHERE token = ?").run(token);
  });
}

/** The process that owns the folder now; null when there is none or it is dead. */
export function liveOwner(database: DatabaseSync): Owner | null {
  const row = one<OwnerRow>(database.prepare("SELECT token, pid, process_start AS processStart, since FROM owner"));
  if (row === null || processStart(row.pid) !== row.processStart) return null;
  return { token: row.token, pid: row.pid, since: row.since };
}

function refusal(database: DatabaseSync, folder: string, owner: Owner): Failure {
  const held = one<{ runId: string; name: string }>(
    database.prepare("SELECT run_id AS runId, name FROM run WHERE owner_token = ? ORDER BY run_no DESC LIMIT 1"),
    owner.token,
  );
  if (held !== null)
    return runLive(`${held.runId} (${held.name})`, owner, ` One process owns the data folder ${folder}.`);
  return new Failure(
    "store_locked",
    `The data folder ${folder} belongs to process ${owner.pid} since ${instant(owner.since)}. ${REMEDY}`,
  );
}

const REMEDY = "Wait for it, stop it, or choose another folder with SANDLOT_DATA.";

/** The refusal of a run whose owner lives. */
export function runLive(run: string, owner: Pick<Owner, "pid" | "since">, why = ""): Failure {
  return new Failure(
    "run_live",
    `Run ${run} is live: process ${owner.pid} has owned it since ${instant(owner.since)}.${why} ${REMEDY}`,
  );
}

function instant(ms: number): string {
  return `${new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: "UTC" }).format(ms)} UTC`;
}

/** Boot and start time of a process, which together with its id name it for good; null when it is not running. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command may hold spaces and parentheses, so fields are counted after the last ")": state is field 3, start 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${fields[19]}`;
  } catch {
    return null;
  }
}
