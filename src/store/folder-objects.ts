/**
 * Objects in a folder. A put writes a temporary file, syncs it, links it to its name without replacing, and syncs the
 * folder: a key once readable is whole and durable, and a second put of it fails. Keys are paths of plain parts, so
 * that no key can leave the folder.
 */
import { constants } from "node:fs";
import { link, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../core/errors.ts";
import type { Objects } from "../core/store.ts";
import { errorCode, storeFailure } from "./store-failure.ts";

const KEY_LENGTH_MAX = 512;
const TEMPORARY = ".temporary";

/** What a folder can do beyond the port: the store merges small packs and removes the ones it merged. */
export interface FolderObjects extends Objects {
  /** Removes an object no row names any more; a missing one is no error. */
  remove(key: string): Promise<void>;
  /** Removes the temporary files of puts that were interrupted. Only the owner of the folder may call it. */
  sweep(): Promise<void>;
}

/** The folder is made by the first put. Nothing is cached: what `get` returns was read from the disk. */
export function folderObjects(folder: string): FolderObjects {
  let puts = 0;
  const known = new Set<string>();
  return {
    async put(key, bytes) {
      const path = pathOf(folder, key);
      puts += 1;
      const temporary = join(folder, TEMPORARY, `${process.pid}-${puts}`);
      try {
        await ensureFolder(dirname(path), known);
        await ensureFolder(dirname(temporary), known);
        await writeDurably(temporary, bytes);
        await link(temporary, path);
        await syncFolder(dirname(path));
      } catch (error) {
        if (errorCode(error) === "EEXIST") {
          throw new Failure("superseded", `Object ${key} exists; objects are never replaced.`, { cause: error });
        }
        throw storeFailure(error, folder);
      } finally {
        await rm(temporary, { force: true });
      }
    },
    get: (key, range) => readObject(folder, key, range),
    async list(prefix) {
      const found: { key: string; bytes: number }[] = [];
      await collect(folder, "", prefix, found);
      return found.sort((a, b) => (a.key < b.key ? -1 : 1));
    },
    async remove(key) {
      await rm(pathOf(folder, key), { force: true });
    },
    async sweep() {
      await rm(join(folder, TEMPORARY), { recursive: true, force: true });
      known.delete(join(folder, TEMPORARY));
    },
  };
}

async function readObject(folder: string, key: string, range?: { offset: number; length: number }) {
  const path = pathOf(folder, key);
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { size } = await file.stat();
      const offset = range?.offset ?? 0;
      const length = range?.length ?? size;
      if (offset < 0 || length < 0 || offset + length > size) {
        throw new Failure(
          "record_invalid",
          `Object ${key} in ${folder} has ${size} bytes, but bytes ${offset} to ${offset + length} were asked for: it is cut short.`,
        );
      }
      const bytes = new Uint8Array(length);
      let read = 0;
      while (read < length) {
        const { bytesRead } = await file.read(bytes, read, length - read, offset + read);
        if (bytesRead === 0)
          throw new Failure("record_invalid", `Object ${key} in ${folder} became shorter while read.`);
        read += bytesRead;
      }
      return bytes;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") {
      throw new Failure(
        "object_missing",
        `Object ${key} is not in ${folder}; a row names it, so it was removed by hand or lost.`,
        {
          cause: error,
        },
      );
    }
    throw storeFailure(error, folder);
  }
}

/** A key is 1 to 512 characters: parts of letters, digits, `.`, `_`, `=`, `-`, joined by `/`; no part starts with a dot. */
function pathOf(folder: string, key: string): string {
  const isPlain =
    key.length <= KEY_LENGTH_MAX && /^[A-Za-z0-9_=-][A-Za-z0-9._=-]*(\/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*$/.test(key);
  if (!isPlain) {
    throw new Failure(
      "request_invalid",
      `Object key ${JSON.stringify(key)} is not valid: use letters, digits, ".", "_", "=", "-" in parts joined by "/".`,
    );
  }
  return join(folder, key);
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o644);
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Makes a folder and syncs each parent that gained an entry, so that the path itself survives a power cut. */
async function ensureFolder(folder: string, known: Set<string>): Promise<void> {
  if (known.has(folder)) return;
  const first = await mkdir(folder, { recursive: true });
  if (first !== undefined) {
    for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
  }
  known.add(folder);
}

/** Makes the entries of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function collect(
  folder: string,
  path: string,
  prefix: string,
  found: { key: string; bytes: number }[],
): Promise<void> {
  const entries = await readdir(join(folder, path), { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw storeFailure(error, folder);
  });
  for (const entry of entries) {
    if (entry.name === TEMPORARY) continue;
    const key = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      if (key.startsWith(prefix) || prefix.startsWith(`${key}/`)) await collect(folder, key, prefix, found);
    } else if (entry.isFile() && key.startsWith(prefix)) {
      found.push({ key, bytes: (await stat(join(folder, key))).size });
    }
  }
}
