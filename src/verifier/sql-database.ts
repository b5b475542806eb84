/**
 * Asks a database file that an agent left. The file is hostile data: it is opened for reading only, checked first, and
 * only ever in a sandbox of its own kind that holds nothing expected.
 */
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { placeFiles } from "./place-files.ts";
import { placeCluster } from "./sql-cluster.ts";
import { runSql, type SqlDataset, type SqlEngineName, type SqlPlace, type SqlRows } from "./sql-engine.ts";
import { gradingRequest } from "./subject-sandbox.ts";

const MIB = 1024 * 1024;
const FOLDER = "/run/sql";
const QUERY_MS = 10_000;

/** A database file as it crossed. */
export interface DatabaseFile {
  readonly bytes: Uint8Array;
  /** Its `-wal` file, where the contract collects one: rows not yet in the file itself. */
  readonly log?: Uint8Array;
}

/** One question to a database that was collected. */
export interface DatabaseQuery {
  readonly sql: string;
  /** Tables that must be base tables of the file: a view of that name is refused. Default none. */
  readonly tables?: readonly string[];
  /** Default 10,000. */
  readonly timeoutMs?: number;
}

/** Rows are compared with `rowsDifference` of `sql-rows.ts`. `refused`: what is wrong with the file or the answer. */
export type DatabaseAnswer =
  | { readonly kind: "rows"; readonly table: SqlRows }
  | { readonly kind: "refused"; readonly detail: string };

/**
 * Claims a sandbox for one query of a SQLite file. Claim no others meanwhile, or do it in turn: see `TemplateParts`.
 * A damaged, hostile or slow database is a value. Throws sandbox failures and `verifier_crashed`.
 */
export function queryDatabase(
  file: DatabaseFile,
  query: DatabaseQuery,
  sandboxes: SandboxPool,
  request: GradeRequest,
  runtime: Runtime,
): Promise<DatabaseAnswer> {
  return sandboxes.withSandbox(sqlSandboxRequest(request, "subject"), request.signal, (sandbox) =>
    queryDatabaseIn(sandbox, file, query, request.signal, runtime),
  );
}

/** The same in a sandbox that is there already and holds no expected value. */
export async function queryDatabaseIn(
  sandbox: Sandbox,
  file: DatabaseFile,
  query: DatabaseQuery,
  signal: AbortSignal,
  runtime: Runtime,
): Promise<DatabaseAnswer> {
  const path = `${FOLDER}/database`;
  const made = await sandbox.exec(["/bin/mkdir", "-p", FOLDER], {
    user: "root",
    timeoutMs: QUERY_MS,
    outputBytesMax: 1_000,
    signal,
  });
  if (made.exitCode === 0) {
    await sandbox.exec(["/bin/chown", "subject:", FOLDER], {
      user: "root",
      timeoutMs: QUERY_MS,
      outputBytesMax: 1_000,
      signal,
    });
  }
  const mode = file.log === undefined ? 0o444 : 0o644;
  const part = (name: string, bytes: Uint8Array) =>
    ({ path: name, bytes, mode, owner: "subject", isRequired: true }) as const;
  const files = [part(path, file.bytes), ...(file.log === undefined ? [] : [part(`${path}-wal`, file.log)])];
  await placeFiles(sandbox, files, signal);
  const dataset = { name: "artifact", file: path, hasLog: file.log !== undefined, tables: query.tables ?? [] };
  return ask("sqlite", dataset, query, { sandbox, runtime, signal });
}

/**
 * Claims a sandbox for one query of a PostgreSQL plain-SQL dump (`pg_dump --no-owner --no-privileges`), restored on a
 * fresh cluster by a role that owns nothing else. As `queryDatabase` in all else.
 */
export function queryDump(
  dump: Uint8Array,
  query: DatabaseQuery,
  sandboxes: SandboxPool,
  request: GradeRequest,
  runtime: Runtime,
): Promise<DatabaseAnswer> {
  const { signal } = request;
  return sandboxes.withSandbox(sqlSandboxRequest(request, "subject"), signal, async (sandbox) => {
    const place = { sandbox, runtime, signal };
    const cluster = await placeCluster(place);
    const dataset = { name: "artifact", dump: Buffer.from(dump).toString("utf8"), tables: query.tables ?? [] };
    return ask("postgresql", dataset, query, place, cluster);
  });
}

async function ask(
  engine: SqlEngineName,
  dataset: SqlDataset,
  { sql, timeoutMs = QUERY_MS }: DatabaseQuery,
  place: SqlPlace,
  cluster: string | null = null,
): Promise<DatabaseAnswer> {
  const request = { engine, kind: "query", sql, back: null, checks: [], timeoutMs, datasets: [dataset] } as const;
  const answers = await runSql(cluster === null ? request : { ...request, cluster }, place);
  if (answers.kind === "died") return { kind: "refused", detail: answers.detail };
  const [reply] = answers.replies;
  if (reply === undefined || "before" in reply) return { kind: "refused", detail: "the engine gave no rows" };
  return "refused" in reply ? { kind: "refused", detail: reply.refused } : { kind: "rows", table: reply };
}

/** Room for an engine and its data, beside what the task allows. */
export function sqlSandboxRequest(request: GradeRequest, role: "subject" | "verifier"): SandboxRequest {
  const base = gradingRequest(request, role);
  const { limits } = base;
  return {
    ...base,
    limits: {
      ...limits,
      memoryBytes: Math.max(limits.memoryBytes, 384 * MIB),
      diskBytes: Math.max(limits.diskBytes, 384 * MIB),
      filesMax: Math.max(limits.filesMax, 10_000),
      processesMax: Math.max(limits.processesMax, 64),
      shmBytes: Math.max(limits.shmBytes, 16 * MIB),
    },
  };
}
