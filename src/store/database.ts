/**
 * Opens the SQLite file: write-ahead log, synchronous FULL, foreign keys, the present schema. One process writes it;
 * others open it read-only. All work on it is synchronous, so nothing can come between two statements of a transaction.
 */
import { existsSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";

const BUSY_MS = 5_000;

export type StoreMode = "owner" | "reader";

/**
 * Owner mode makes the file and brings its schema up to date. Throws `not_found` for a reader of a file that is not
 * there, `store_unavailable` for a schema this Sandlot does not know, naming both versions.
 */
export function openDatabase(path: string, mode: StoreMode): DatabaseSync {
  if (mode === "reader" && !existsSync(path)) {
    throw new Failure(
      "not_found",
      `There is no store at ${path}; \`sandlot train\` or \`sandlot evaluate\` makes one.`,
    );
  }
  const database = new DatabaseSync(path, { readOnly: mode === "reader" });
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    if (mode === "owner")
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    bringUpToDate(database, path, mode);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function bringUpToDate(database: DatabaseSync, path: string, mode: StoreMode): void {
  if (mode === "reader") {
    const version = schemaVersion(database);
    if (version !== SCHEMA_VERSION) throw wrongVersion(path, version);
    return;
  }
  inTransaction(database, () => {
    database.exec("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT");
    const version = schemaVersion(database);
    if (version > SCHEMA_VERSION) throw wrongVersion(path, version);
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    if (version === SCHEMA_VERSION) return;
    database.exec("DELETE FROM schema_version");
    database.prepare("INSERT INTO schema_version (version) VALUES (?)").run(SCHEMA_VERSION);
  });
}

/** 0 for a file without tables. */
function schemaVersion(database: DatabaseSync): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'").get();
  if (table === undefined) return 0;
  const row = one<{ version: number }>(database.prepare("SELECT version FROM schema_version"));
  return row?.version ?? 0;
}

function wrongVersion(path: string, version: number): Failure {
  const remedy =
    version > SCHEMA_VERSION
      ? "Use the newer Sandlot that wrote it."
      : "Open it once with a command that writes, such as `sandlot run resume`, to bring it up to date.";
  return new Failure(
    "store_unavailable",
    `The store at ${path} has schema version ${version}; this Sandlot has schema version ${SCHEMA_VERSION}. ${remedy}`,
  );
}

/** Runs `work` between BEGIN IMMEDIATE and COMMIT; rolls back and passes on what it throws. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Rows as plain objects; the statement names its columns as `T` does. */
export function many<T>(statement: StatementSync, ...values: SQLInputValue[]): T[] {
  return statement.all(...values).map((row) => ({ ...row }) as unknown as T);
}

/** The first row as a plain object; null when there is none. */
export function one<T>(statement: StatementSync, ...values: SQLInputValue[]): T | null {
  const row = statement.get(...values);
  return row === undefined ? null : ({ ...row } as unknown as T);
}
