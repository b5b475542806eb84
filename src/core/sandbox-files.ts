/**
 * Files of a sandbox as its owner sees them. Every path is absolute inside the sandbox, links are never followed out of
 * it, nothing blocks, and a refusal is a value with its reason.
 */

/** Why a file operation was refused. `denied` is also an operation that processes of the sandbox kept ending. */
export type FileError =
  | "missing"
  | "denied"
  | "too_large"
  | "not_regular"
  | "is_directory"
  | "not_directory"
  | "refused_link"
  | "no_space"
  | "invalid_path";

/** A refusal is a value; only the sandbox's own end is thrown. */
export type FileResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: FileError; readonly message: string };

/** One entry of a listing. */
export interface FileEntry {
  /** Relative to the folder that was listed, with `/` between parts. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
}

/** A file to place in, or taken out of, a sandbox. `path` is absolute inside the sandbox. */
export interface FileContent {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** What is known of one path. */
export interface FileStatus {
  readonly kind: FileEntry["kind"];
  readonly bytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** UTC milliseconds, as the sandbox's file system tells it. */
  readonly modifiedMs: number;
}

/** Bounds of a whole tree; reaching one is `too_large` and leaves nothing half done on the side that is written. */
export interface TreeLimits {
  readonly bytesMax: number;
  readonly entriesMax: number;
}

/** What a tree that was carried had in it. */
export interface TreeReport {
  readonly files: number;
  readonly folders: number;
  readonly bytes: number;
  /** Members that are neither file nor folder, with links, setuid bits and names that would leave the target: never carried. */
  readonly refused: readonly string[];
}

/** One path that differs from the image, or from the snapshot the sandbox stands on. */
export interface FileChange {
  /** Absolute inside the sandbox. */
  readonly path: string;
  readonly change: "added" | "modified" | "removed";
  /** What is there now; null when removed. */
  readonly kind: FileEntry["kind"] | null;
  /** Null unless it is a regular file. */
  readonly bytes: number | null;
  /** Of a regular file's content, lower-case hex; else null. */
  readonly sha256: string | null;
}

/** One change below a watched folder. */
export interface WatchEvent {
  /** Absolute inside the sandbox. */
  readonly path: string;
  readonly kind: "created" | "modified" | "removed";
}

/** Files inside the sandbox only: paths are absolute there, links are never followed out, nothing blocks. */
export interface SandboxFiles {
  read(path: string, options: { readonly bytesMax: number }): Promise<FileResult<Uint8Array>>;
  /** At most `bytes` from `offset`; shorter, or empty, at the end of the file. */
  readRange(path: string, range: { readonly offset: number; readonly bytes: number }): Promise<FileResult<Uint8Array>>;
  /**
   * Every regular file below the folder `path`, depth first, sorted by name, with its content and all its permission
   * bits; links are not followed. `entriesMax` counts every entry below it, folders and links too. `onRefused` is told,
   * once the tree is whole, what is neither file nor folder, by its absolute path.
   */
  readTree(
    path: string,
    limits: TreeLimits & { readonly onRefused?: (path: string) => void },
  ): Promise<FileResult<readonly FileContent[]>>;
  /** Creates parents. Written beside and renamed, so a reader never sees half a file. Owner: `user`, default root. */
  write(file: FileContent, options?: { readonly user?: string }): Promise<FileResult<null>>;
  /** Everything below `path`, depth first, sorted by name; at most `entriesMax`, else `too_large`. Links are not followed. */
  list(
    path: string,
    options: { readonly recursive: boolean; readonly entriesMax: number },
  ): Promise<FileResult<readonly FileEntry[]>>;
  /** Of the link itself, where `path` is one. */
  stat(path: string): Promise<FileResult<FileStatus>>;
  exists(path: string): Promise<boolean>;
  /** Makes missing parents too; a folder that is there already is no error. */
  mkdir(path: string, options?: { readonly mode?: number; readonly user?: string }): Promise<FileResult<null>>;
  /** Both paths in one file system of the sandbox; an existing file at `to` is replaced. */
  rename(from: string, to: string): Promise<FileResult<null>>;
  /** `recursive` also removes a folder's content; without it a folder must be empty. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<FileResult<null>>;
  /** Never through a link. */
  chmod(path: string, mode: number): Promise<FileResult<null>>;
  /** Copies a folder of the host (regular files and folders only) to `path`, which it makes. Owner: `user`, default root. */
  upload(
    hostFolder: string,
    path: string,
    options: TreeLimits & { readonly user?: string },
  ): Promise<FileResult<TreeReport>>;
  /** Copies what is below `path` into an existing empty host folder: regular files and folders only, never above it. */
  download(path: string, hostFolder: string, options: TreeLimits): Promise<FileResult<TreeReport>>;
  /** Tells changes below the folder `path` until `signal` aborts. Rejects like `exec` when the sandbox ends first. */
  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<FileResult<null>>;
}
