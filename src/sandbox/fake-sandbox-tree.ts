/**
 * The files of a fake sandbox: a map from absolute path to file, in which folders exist where something lies below them
 * or where one was made. Changes are told to whoever watches, whichever hand made them.
 */
import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { FileChange, FileEntry, FileStatus, WatchEvent } from "../core/sandbox-files.ts";

export interface FakeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
  /** Absent: a regular file. A folder has no bytes. */
  readonly kind?: "folder";
  /** Owner; absent: root. */
  readonly uid?: number;
}

/** The in-memory files of one fake sandbox, by absolute path. */
export type FakeFiles = Map<string, FakeFile>;

const PATH_BYTES_MAX = 4_095;
const NAME_BYTES_MAX = 255;

/** A map that tells its changes. */
export class WatchedFiles extends Map<string, FakeFile> {
  readonly #watchers = new Set<(event: WatchEvent) => void>();

  /** Tells changes below `folder` until `signal` aborts. */
  async watch(folder: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const watcher = (event: WatchEvent): void => {
      if (event.path.startsWith(prefixOf(folder))) onEvent(event);
    };
    this.#watchers.add(watcher);
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.#watchers.delete(watcher);
  }

  override set(path: string, file: FakeFile): this {
    const kind = this.has(path) ? "modified" : "created";
    super.set(path, file);
    this.#tell({ path, kind });
    return this;
  }

  override delete(path: string): boolean {
    const wasThere = super.delete(path);
    if (wasThere) this.#tell({ path, kind: "removed" });
    return wasThere;
  }

  override clear(): void {
    for (const path of [...this.keys()]) this.delete(path);
  }

  #tell(event: WatchEvent): void {
    for (const watcher of this.#watchers) watcher(event);
  }
}

/** The path without `.`, `..` and doubled slashes; null for one no file can have. */
export function fakePath(path: string): string | null {
  if (!path.startsWith("/") || path.includes("\0") || Buffer.byteLength(path) > PATH_BYTES_MAX) return null;
  if (path.split("/").some((name) => Buffer.byteLength(name) > NAME_BYTES_MAX)) return null;
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}

function prefixOf(folder: string): string {
  return folder === "/" ? "/" : `${folder}/`;
}

/** Null when there is nothing at `path`. */
export function statusOf(files: FakeFiles, path: string): FileStatus | null {
  const found = files.get(path);
  const owner = { uid: found?.uid ?? 0, gid: found?.uid ?? 0, modifiedMs: 0 };
  if (found !== undefined) return { kind: found.kind ?? "file", bytes: found.bytes.length, mode: found.mode, ...owner };
  const isFolder = path === "/" || [...files.keys()].some((name) => name.startsWith(prefixOf(path)));
  return isFolder ? { kind: "folder", bytes: 0, mode: 0o755, ...owner } : null;
}

/** The nearest part above `path` that is a file and so can hold nothing. */
export function fileAbove(files: FakeFiles, path: string): string | null {
  for (let above = posix.dirname(path); above !== "/"; above = posix.dirname(above))
    if (statusOf(files, above)?.kind === "file") return above;
  return null;
}

/** Everything below a folder, sorted, paths relative to it. */
export function entriesBelow(files: FakeFiles, folder: string, recursive: boolean): FileEntry[] {
  const prefix = prefixOf(folder);
  const entries = new Map<string, FileEntry>();
  for (const [path, file] of files) {
    if (!path.startsWith(prefix) || path === folder) continue;
    const parts = path.slice(prefix.length).split("/");
    for (let depth = 1; depth < parts.length; depth += 1) {
      const name = parts.slice(0, depth).join("/");
      if (!files.has(prefix + name)) entries.set(name, { path: name, kind: "folder", bytes: 0, mode: 0o755 });
    }
    const name = parts.join("/");
    entries.set(name, { path: name, kind: file.kind ?? "file", bytes: file.bytes.length, mode: file.mode });
  }
  const all = [...entries.values()].filter((entry) => recursive || !entry.path.includes("/"));
  return all.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What differs between two states, sorted by path. */
export function changesBetween(before: FakeFiles, now: FakeFiles): FileChange[] {
  const changes: FileChange[] = [];
  for (const [path, file] of now) {
    const old = before.get(path);
    if (old !== undefined && isEqual(old, file)) continue;
    const change = old === undefined ? "added" : "modified";
    const isFile = file.kind === undefined;
    const sha256 = isFile ? createHash("sha256").update(file.bytes).digest("hex") : null;
    changes.push({ path, change, kind: file.kind ?? "file", bytes: isFile ? file.bytes.length : null, sha256 });
  }
  for (const path of before.keys())
    if (!now.has(path)) changes.push({ path, change: "removed", kind: null, bytes: null, sha256: null });
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function isEqual(one: FakeFile, other: FakeFile): boolean {
  const { mode, kind, uid } = other;
  return one.mode === mode && one.kind === kind && one.uid === uid && Buffer.compare(one.bytes, other.bytes) === 0;
}

/** Replaces the content of one map by another's; bytes are never changed in place, so they are shared. */
export function replaceFiles(files: FakeFiles, by: FakeFiles): void {
  for (const path of [...files.keys()]) if (!by.has(path)) files.delete(path);
  for (const [path, file] of by) {
    const old = files.get(path);
    if (old === undefined || !isEqual(old, file)) files.set(path, file);
  }
}
