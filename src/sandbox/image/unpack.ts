/**
 * Lays the members of an archive into a folder that nobody else writes to. Whatever the archive says, nothing lands
 * outside that folder: a member whose parent is no real folder is refused, and no link is ever followed. setuid and setgid
 * bits are cleared and extended attributes dropped, so sudo, su and ping of an image do not raise anybody.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  type Stats,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { setImmediate } from "node:timers/promises";
import { Failure } from "../../core/errors.ts";
import { ArchiveError } from "./byte-reader.ts";
import type { ImageOwnership } from "./image-contract.ts";
import { pathParts, whiteoutOf } from "./member-path.ts";
import { type ArchiveMember, shownName } from "./tar-read.ts";

/** Ids of a sandbox are 0 to 65535. */
const ID_MAX = 65_535;
/** The sandbox mounts its own over these; what an archive has below them is left out. */
const MOUNTED = new Set(["dev", "proc", "sys"]);

export interface UnpackLimits {
  readonly bytesMax: number;
  readonly entriesMax: number;
}

export const UNPACK_LIMITS: UnpackLimits = { bytesMax: 64 * 2 ** 30, entriesMax: 4_000_000 };

interface UnpackOptions {
  readonly ownership: ImageOwnership;
  readonly limits?: UnpackLimits;
  readonly signal?: AbortSignal | undefined;
  /**
   * For a layer that stays one: told of each name that is gone from the layers below. Without it, the name is removed
   * from what was unpacked before.
   */
  readonly onWhiteout?: (kind: "name" | "all", path: string) => void;
  /** Mode and ids of a folder no member describes, as the layers below have it. */
  readonly folderBelow?: (path: string) => Stats | null;
}

export class Unpacker {
  readonly #root: string;
  readonly #options: UnpackOptions;
  readonly #limits: UnpackLimits;
  /** Real folders, checked or made here; nobody else can turn one into a link. */
  readonly #folders = new Set<string>([""]);
  /** Their modes and times are set last: a file made in a folder changes its time, and the mode may forbid writing. */
  readonly #late = new Map<string, { readonly mode: number; readonly modifiedAt: number }>();
  /** Names of the archive in hand and the folders above them; a whiteout is about the layers below alone. */
  #written = new Set<string>();
  #bytes = 0;
  #entries = 0;

  /** `root` exists and is reachable by nobody else. */
  constructor(root: string, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
    this.#limits = options.limits ?? UNPACK_LIMITS;
    this.#own(root);
  }

  /** Lays one archive over what lies there. Throws ArchiveError naming the member. */
  async lay(members: AsyncIterable<ArchiveMember>): Promise<void> {
    this.#written = new Set();
    for await (const member of members) {
      this.#options.signal?.throwIfAborted();
      this.#entries += 1;
      if (this.#entries > this.#limits.entriesMax)
        throw new ArchiveError(`has over ${this.#limits.entriesMax} members; make it smaller`);
      if (this.#entries % 128 === 0) await setImmediate();
      await this.#layMember(member);
    }
  }

  /** Makes sure that every folder above a path is a real one of this tree. Throws ArchiveError. */
  enterParents(path: string): void {
    this.#enter(path.split("/").slice(0, -1), path);
  }

  /** Sets the modes and times of folders. Call once, after the last archive. */
  finish(): void {
    for (const [path, { mode, modifiedAt }] of [...this.#late].reverse()) {
      const at = this.#path(path);
      chmodSync(at, mode);
      utimesSync(at, modifiedAt, modifiedAt);
    }
  }

  async #layMember(member: ArchiveMember): Promise<void> {
    const parts = pathParts(member.path, member.path, "path");
    if (parts.length > 1 && MOUNTED.has(parts[0] ?? "")) return;
    const gone = whiteoutOf(parts);
    if (gone !== null) {
      if (this.#options.onWhiteout === undefined) this.#remove(gone.kind, gone.gone);
      else this.#options.onWhiteout(gone.kind, gone.gone);
      return;
    }
    for (const id of [member.uid, member.gid])
      if (id > ID_MAX)
        throw new ArchiveError(`has the member ${shownName(member.path)}, which belongs to id ${id}, over ${ID_MAX}`);
    const path = parts.join("/");
    if (path !== "") this.#enter(parts.slice(0, -1), member.path);
    try {
      await this.#place(member, path);
    } catch (error) {
      throw placeError(error, member);
    }
    for (let depth = parts.length; depth > 0; depth -= 1) this.#written.add(parts.slice(0, depth).join("/"));
  }

  async #place(member: ArchiveMember, path: string): Promise<void> {
    const at = this.#path(path);
    if (member.kind === "folder") return this.#placeFolder(member, path);
    if (path === "") throw new ArchiveError("gives a file as the root of the tree");
    if (member.kind === "device" || member.kind === "fifo" || member.kind === "socket")
      throw new ArchiveError(
        `has the member ${shownName(member.path)}, a ${member.kind}; only files, folders and links are unpacked`,
      );
    if (member.kind === "hardlink") return this.#placeHardLink(member, path);
    this.#clear(path);
    if (member.kind === "file") return this.#placeFile(member, at);
    if (member.link === "" || member.link.includes("\0"))
      throw new ArchiveError(`has the link ${shownName(member.path)}, which leads nowhere`);
    symlinkSync(Buffer.from(member.link, "latin1"), at);
    this.#own(at, member);
    lutimesSync(at, member.modifiedAt, member.modifiedAt);
  }

  async #placeFile(member: ArchiveMember, at: Buffer): Promise<void> {
    this.#bytes += member.size;
    if (this.#bytes > this.#limits.bytesMax)
      throw new ArchiveError(
        `holds over ${this.#limits.bytesMax} bytes, reached at the member ${shownName(member.path)}`,
      );
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = openSync(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for await (const part of member.body)
        for (let done = 0; done < part.length; ) done += writeSync(file, part, done);
      const [uid, gid] = this.#ids(member);
      fchownSync(file, uid, gid);
      /* With one id for all, that user's own reading is what the sandbox's root has. */
      fchmodSync(file, (member.mode & 0o777) | (this.#options.ownership.isSingle ? 0o400 : 0));
      futimesSync(file, member.modifiedAt, member.modifiedAt);
    } finally {
      closeSync(file);
    }
  }

  #placeFolder(member: ArchiveMember, path: string): void {
    const at = this.#path(path);
    if (!this.#folders.has(path)) {
      const found = lstatSync(at, { throwIfNoEntry: false });
      if (found?.isDirectory() !== true) {
        if (found !== undefined) this.#clear(path);
        mkdirSync(at, 0o755);
      }
      this.#folders.add(path);
    }
    this.#own(at, member);
    this.#note(path, member.mode & 0o1777, member.modifiedAt);
  }

  /** Both names lie in the tree, and the first is a regular file or a link that was unpacked before. */
  #placeHardLink(member: ArchiveMember, path: string): void {
    const target = pathParts(member.link, member.path, "hard link target");
    const first = target.join("/");
    this.#enter(target.slice(0, -1), member.path);
    const found = lstatSync(this.#path(first), { throwIfNoEntry: false });
    if (found === undefined || found.isDirectory())
      throw new ArchiveError(
        `has the hard link ${shownName(member.path)} to ${shownName(member.link)}, which is no file of the archive before it`,
      );
    if (first === path) return;
    this.#clear(path);
    linkSync(this.#path(first), this.#path(path));
  }

  /** Makes sure that every parent is a real folder of this tree. */
  #enter(parents: readonly string[], member: string): void {
    let path = "";
    for (const part of parents) {
      path = path === "" ? part : `${path}/${part}`;
      if (this.#folders.has(path)) continue;
      const at = this.#path(path);
      const found = lstatSync(at, { throwIfNoEntry: false });
      if (found !== undefined && !found.isDirectory())
        throw new ArchiveError(
          `has the member ${shownName(member)} below ${shownName(path)}, which is ${found.isSymbolicLink() ? "a link" : "no folder"}`,
        );
      if (found === undefined) this.#implyFolder(path, at);
      this.#folders.add(path);
    }
  }

  #implyFolder(path: string, at: Buffer): void {
    const below = this.#options.folderBelow?.(path) ?? null;
    mkdirSync(at, 0o755);
    if (below === null) this.#own(at);
    else lchownSync(at, below.uid, below.gid);
    this.#note(path, (below?.mode ?? 0o755) & 0o1777, below === null ? 0 : below.mtimeMs / 1_000);
  }

  /** A file takes a name from whatever had it; a folder gives it up with all it holds. */
  #clear(path: string): void {
    if (lstatSync(this.#path(path), { throwIfNoEntry: false }) === undefined) return;
    rmSync(this.#path(path), { recursive: true });
    for (const known of [this.#folders, this.#late])
      for (const key of known.keys()) if (key === path || key.startsWith(`${path}/`)) known.delete(key);
  }

  /** A name of the layers below, or all a folder has of them; what the archive in hand has written stays. */
  #remove(kind: "name" | "all", path: string): void {
    const parents = path === "" ? [] : path.split("/").slice(0, kind === "all" ? undefined : -1);
    for (let depth = 1; depth <= parents.length; depth += 1) {
      const found = lstatSync(this.#path(parents.slice(0, depth).join("/")), { throwIfNoEntry: false });
      if (found?.isDirectory() !== true) return;
    }
    if (kind === "all") {
      for (const name of readdirSync(this.#path(path), { encoding: "latin1" }))
        this.#remove("name", path === "" ? name : `${path}/${name}`);
      return;
    }
    if (!this.#written.has(path)) this.#clear(path);
    else if (lstatSync(this.#path(path), { throwIfNoEntry: false })?.isDirectory() === true) this.#remove("all", path);
  }

  #note(path: string, mode: number, modifiedAt: number): void {
    this.#late.set(path, { mode: mode | (this.#options.ownership.isSingle ? 0o700 : 0), modifiedAt });
  }

  #ids(member: ArchiveMember | null): readonly [number, number] {
    const { base, isSingle } = this.#options.ownership;
    return isSingle || member === null ? [base, base] : [base + member.uid, base + member.gid];
  }

  #own(at: string | Buffer, member: ArchiveMember | null = null): void {
    const [uid, gid] = this.#ids(member);
    lchownSync(at, uid, gid);
  }

  #path(path: string): Buffer {
    return Buffer.from(`${Buffer.from(this.#root).toString("latin1")}/${path}`, "latin1");
  }
}

function placeError(error: unknown, member: ArchiveMember): unknown {
  if (error instanceof ArchiveError || error instanceof Failure) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new Failure(
      "disk_full",
      `No space is left for the image at its member ${shownName(member.path)}; free some with "sandlot image gc".`,
      { cause: error },
    );
  if (code === undefined) return error;
  const remedy = code === "EPERM" ? "; giving files to other ids needs root" : "";
  return new ArchiveError(`has the member ${shownName(member.path)}, which could not be laid (${code})${remedy}`, {
    cause: error,
  });
}
