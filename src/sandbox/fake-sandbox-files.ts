/** The file interface of a fake sandbox: the contract of `core/sandbox-files.ts` over a map. There are no links in it. */
import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import type {
  FileContent,
  FileEntry,
  FileError,
  FileResult,
  FileStatus,
  SandboxFiles,
  TreeLimits,
  TreeReport,
} from "../core/sandbox-files.ts";
import { entriesBelow, type FakeFiles, fakePath, fileAbove, statusOf, type WatchedFiles } from "./fake-sandbox-tree.ts";
import { sandboxUser } from "./run-command.ts";

const EMPTY = new Uint8Array();

function refused(error: FileError, path: string, why: string): FileResult<never> {
  return { ok: false, error, message: `"${path}" ${why}.` };
}

const DONE: FileResult<null> = { ok: true, value: null };

/** `check` throws when the sandbox is no more; `ended` aborts then, with the same failure. */
export function fakeFiles(files: WatchedFiles, check: () => void, ended: AbortSignal): SandboxFiles {
  const at = async <T>(path: string, use: (path: string) => FileResult<T> | Promise<FileResult<T>>) => {
    check();
    const normal = fakePath(path);
    return normal === null ? refused("invalid_path", path, "is no path of a sandbox") : use(normal);
  };
  return {
    read: (path, { bytesMax }) =>
      at(path, (normal) => {
        const found = content(files, normal);
        if (!found.ok || found.value.length <= bytesMax) return found;
        return refused("too_large", path, `is larger than ${bytesMax} bytes`);
      }),
    readRange: (path, { offset, bytes }) =>
      at(path, (normal) => {
        const found = content(files, normal);
        return found.ok ? { ok: true, value: found.value.subarray(offset, offset + bytes) } : found;
      }),
    write: ({ path, bytes, mode }, { user } = {}) =>
      at(path, (normal) => {
        if (statusOf(files, normal)?.kind === "folder") return refused("is_directory", path, "is a folder");
        if (fileAbove(files, normal) !== null) return refused("not_directory", path, "lies below a file");
        files.set(normal, { bytes: Uint8Array.from(bytes), mode, uid: sandboxUser(user).uid });
        return DONE;
      }),
    list: (path, { recursive, entriesMax }) =>
      at<readonly FileEntry[]>(path, (normal) => {
        const kind = statusOf(files, normal)?.kind;
        if (kind !== "folder") return kind === undefined ? missing(path) : refused("not_directory", path, "is a file");
        const entries = entriesBelow(files, normal, recursive);
        if (entries.length > entriesMax) return refused("too_large", path, `holds more than ${entriesMax} entries`);
        return { ok: true, value: entries };
      }),
    stat: (path) =>
      at<FileStatus>(path, (normal) => {
        const value = statusOf(files, normal);
        return value === null ? missing(path) : { ok: true, value };
      }),
    exists: async (path) => {
      const found = await at(path, (normal) => ({ ok: true, value: statusOf(files, normal) !== null }));
      return found.ok && found.value;
    },
    ...changingMethods(files, at),
    ...treeMethods(files, at),
    watch: (path, onEvent, signal) =>
      at(path, async (normal) => {
        if (statusOf(files, normal)?.kind !== "folder") return refused("not_directory", path, "is no folder");
        await files.watch(normal, onEvent, AbortSignal.any([signal, ended]));
        if (ended.aborted) throw ended.reason;
        return DONE;
      }),
  };
}

type At = <T>(path: string, use: (path: string) => FileResult<T> | Promise<FileResult<T>>) => Promise<FileResult<T>>;

function missing(path: string): FileResult<never> {
  return refused("missing", path, "does not exist");
}

function content(files: FakeFiles, path: string): FileResult<Uint8Array> {
  const found = files.get(path);
  if (found !== undefined && found.kind === undefined) return { ok: true, value: found.bytes };
  return statusOf(files, path) === null ? missing(path) : refused("is_directory", path, "is a folder");
}

function changingMethods(files: FakeFiles, at: At): Pick<SandboxFiles, "mkdir" | "rename" | "remove" | "chmod"> {
  return {
    mkdir: (path, { mode = 0o755, user } = {}) =>
      at(path, (normal) => {
        const kind = statusOf(files, normal)?.kind;
        if (kind === "file" || fileAbove(files, normal) !== null)
          return refused("not_directory", path, "is a file or lies below one");
        if (kind === undefined) files.set(normal, { bytes: EMPTY, mode, kind: "folder", uid: sandboxUser(user).uid });
        return DONE;
      }),
    rename: (from, to) =>
      at(from, (source) =>
        at(to, (target) => {
          const kind = statusOf(files, source)?.kind;
          if (kind === undefined) return missing(from);
          if (target === source) return DONE;
          if (target.startsWith(`${source}/`)) return refused("invalid_path", to, `lies below "${from}"`);
          if (statusOf(files, target)?.kind === "folder") return refused("is_directory", to, "is a folder");
          const moved = [...files].filter(([path]) => path === source || path.startsWith(`${source}/`));
          keepParent(files, source);
          for (const [path] of moved) files.delete(path);
          for (const [path, file] of moved) files.set(target + path.slice(source.length), file);
          return DONE;
        }),
      ),
    remove: (path, { recursive = false } = {}) =>
      at(path, (normal) => {
        const kind = statusOf(files, normal)?.kind;
        if (kind === undefined) return missing(path);
        const below = [...files.keys()].filter((name) => name.startsWith(`${normal}/`));
        if (below.length > 0 && !recursive) return refused("is_directory", path, "is a folder that is not empty");
        keepParent(files, normal);
        for (const name of [...below, normal]) files.delete(name);
        return DONE;
      }),
    chmod: (path, mode) =>
      at(path, (normal) => {
        const file = files.get(normal);
        if (file !== undefined) files.set(normal, { ...file, mode });
        else if (statusOf(files, normal) === null) return missing(path);
        else files.set(normal, { bytes: EMPTY, mode, kind: "folder" });
        return DONE;
      }),
  };
}

/** A folder outlives the last thing in it. */
function keepParent(files: FakeFiles, path: string): void {
  const parent = posix.dirname(path);
  if (parent !== "/" && !files.has(parent)) files.set(parent, { bytes: EMPTY, mode: 0o755, kind: "folder" });
}

function treeMethods(files: FakeFiles, at: At): Pick<SandboxFiles, "readTree" | "upload" | "download"> {
  return {
    readTree: (path, limits) =>
      at<readonly FileContent[]>(path, (normal) => {
        const status = statusOf(files, normal);
        if (status === null) return missing(path);
        if (status.kind !== "folder") return refused("not_directory", path, "is no folder");
        const entries = entriesBelow(files, normal, true);
        if (!fits(reportOf(entries), limits)) return refused("too_large", path, "is larger than allowed");
        const content = entries.filter(({ kind }) => kind === "file");
        const folder = normal === "/" ? "" : normal;
        for (const { path: name, kind } of entries) {
          if (kind === "link" || kind === "other") limits.onRefused?.(`${folder}/${name}`);
        }
        const value = content.map(({ path: name, mode }) => {
          const found = `${folder}/${name}`;
          return { path: found, bytes: files.get(found)?.bytes ?? EMPTY, mode };
        });
        return { ok: true, value };
      }),
    upload: (hostFolder, path, limits) =>
      at<TreeReport>(path, async (normal) => {
        const found = await hostTree(hostFolder, limits);
        if (!found.ok) return found;
        const uid = sandboxUser(limits.user).uid;
        if (statusOf(files, normal) === null) files.set(normal, { bytes: EMPTY, mode: 0o755, kind: "folder", uid });
        for (const { path: name, ...file } of found.value.members) files.set(`${normal}/${name}`, { ...file, uid });
        return { ok: true, value: found.value.report };
      }),
    download: (path, hostFolder, limits) =>
      at<TreeReport>(path, async (normal) => {
        if (statusOf(files, normal)?.kind !== "folder") return refused("not_directory", path, "is no folder");
        const entries = entriesBelow(files, normal, true);
        const report = reportOf(entries);
        if (!fits(report, limits)) return refused("too_large", path, "is larger than allowed");
        for (const entry of entries) {
          const target = join(hostFolder, entry.path);
          if (entry.kind === "folder") await mkdir(target, { mode: entry.mode & 0o777 });
          else
            await writeFile(target, files.get(`${normal}/${entry.path}`)?.bytes ?? EMPTY, { mode: entry.mode & 0o777 });
        }
        return { ok: true, value: report };
      }),
  };
}

interface HostMember {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly kind?: "folder";
}

interface HostTree {
  readonly members: readonly HostMember[];
  readonly report: TreeReport;
}

/** Regular files and folders below a host folder; everything else is named as refused. */
async function hostTree(folder: string, limits: TreeLimits): Promise<FileResult<HostTree>> {
  const members: HostMember[] = [];
  const others: string[] = [];
  const names = await readdir(folder);
  for (let path = names.shift(); path !== undefined; path = names.shift()) {
    const status = await lstat(join(folder, path));
    const mode = status.mode & 0o777;
    if (status.isDirectory()) {
      members.push({ path, bytes: EMPTY, mode, kind: "folder" });
      for (const name of await readdir(join(folder, path))) names.push(join(path, name));
    } else if (!status.isFile()) others.push(path);
    else if (status.size > limits.bytesMax) return refused("too_large", path, "is larger than allowed");
    else members.push({ path, bytes: await readFile(join(folder, path)), mode });
  }
  const entries = members.map((member) => ({ kind: member.kind ?? "file", bytes: member.bytes.length }));
  const report = { ...reportOf(entries), refused: others };
  if (!fits(report, limits)) return refused("too_large", folder, "is larger than allowed");
  return { ok: true, value: { members, report } };
}

function reportOf(entries: readonly { readonly kind: string; readonly bytes: number }[]): TreeReport {
  const files = entries.filter(({ kind }) => kind !== "folder");
  const bytes = files.reduce((total, entry) => total + entry.bytes, 0);
  return { files: files.length, folders: entries.length - files.length, bytes, refused: [] };
}

function fits({ files, folders, bytes }: TreeReport, { bytesMax, entriesMax }: TreeLimits): boolean {
  return bytes <= bytesMax && files + folders <= entriesMax;
}
