/**
 * Turns what SQLite and the file system throw into the failures of `core/errors.ts`, so that a full disk reads the
 * same wherever it was met.
 */
import { statfsSync } from "node:fs";
import { Failure } from "../core/errors.ts";

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;
/** Below this, an input-output error of SQLite is read as a full disk: it reports some of those without the reason. */
const FREE_BYTES_MIN = 256 * 1024;

/** The failure an error of the store is; a Failure passes unchanged. `folder` is where the store lies. */
export function storeFailure(error: unknown, folder: string): Failure {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull(folder, error);
  const primary = sqliteCode(error);
  if (primary === SQLITE_FULL) return diskFull(folder, error);
  if (primary === SQLITE_IOERR && freeBytes(folder) < FREE_BYTES_MIN) return diskFull(folder, error);
  if (primary === SQLITE_CONSTRAINT) {
    return new Failure("record_invalid", `The store in ${folder} refused a row: ${message}.`, { cause: error });
  }
  if (primary === SQLITE_BUSY || primary === SQLITE_READONLY) {
    return new Failure("store_locked", `The store in ${folder} cannot be written by this process: ${message}.`, {
      cause: error,
    });
  }
  if (primary !== null || code !== null) {
    const isDamaged = primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB;
    const remedy = isDamaged
      ? "Put a copy of sandlot.db back, or choose another folder with SANDLOT_DATA."
      : "It must be a folder that this process may read and write; another one is chosen with SANDLOT_DATA.";
    return new Failure("store_unavailable", `The store in ${folder} did not answer: ${message}. ${remedy}`, {
      cause: error,
    });
  }
  return new Failure("unexpected", message, { cause: error });
}

function diskFull(folder: string, cause: unknown): Failure {
  return new Failure(
    "disk_full",
    `The disk that holds ${folder} is full; nothing was recorded by this call. Free space there, or move the data folder (SANDLOT_DATA).`,
    { cause },
  );
}

/** The system's name of an error (`ENOENT`, …); null when it has none. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code) ? error.code : null;
}

/** SQLite's primary result code; null when the error is not SQLite's. */
function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return typeof error.errcode === "number" ? error.errcode & 0xff : null;
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
