/**
 * The `host` image: a generated read-only skeleton (a minimal /etc and empty folders) over which the machine's own
 * system folders are bound. Nothing of the host's /etc, /home, /root or /var is in it. The skeleton lies in the cache,
 * under the hash of what it was made from, and is renamed into place whole.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "../../native/build.ts";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import { SUB_UID, type UserIds, userIds } from "./user-ids.ts";

/** Where the skeleton of `host` lies, and what names its state. */
export interface HostImage {
  readonly folder: string;
  /** Covers the skeleton and the versions of the host's system, python3 and bash; not every byte of /usr. */
  readonly hash: string;
}

interface Entry {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  /** Absent for a folder. */
  readonly text?: string;
  readonly link?: string;
}

const SYSTEM_FOLDERS = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

function folder(path: string, mode = 0o755, uid = 0): Entry {
  return { path, mode, uid };
}

function file(path: string, text: string, mode = 0o644): Entry {
  return { path, mode, uid: 0, text };
}

const USERS = [
  ["root", 0, "/root", "/bin/bash"],
  ["agent", 1000, "/home/agent", "/bin/bash"],
  ["verifier", 1001, "/home/verifier", "/bin/bash"],
  ["subject", 1002, "/home/subject", "/bin/bash"],
  ["nobody", 65_534, "/", "/usr/sbin/nologin"],
] as const;

function etc(): Entry[] {
  const osRelease = hostText("/etc/os-release");
  return [
    folder("etc"),
    file(
      "etc/passwd",
      `${USERS.map(([name, id, home, shell]) => `${name}:x:${id}:${id}:${name}:${home}:${shell}`).join("\n")}\n`,
    ),
    file("etc/group", `${USERS.map(([name, id]) => `${name === "nobody" ? "nogroup" : name}:x:${id}:`).join("\n")}\n`),
    file("etc/hostname", "sandbox\n"),
    file("etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"),
    file("etc/resolv.conf", ""),
    file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    file("etc/shells", "/bin/sh\n/bin/bash\n"),
    file("etc/profile", ""),
    file("etc/os-release", osRelease),
    file("etc/machine-id", ""),
    ...alternatives(),
  ];
}

function hostText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** Debian reaches awk, cc and others through links in /etc/alternatives; only those that lead back into /usr count. */
function alternatives(): Entry[] {
  const source = "/etc/alternatives";
  if (!existsSync(source)) return [];
  const links = readdirSync(source)
    .sort()
    .filter((name) => lstatSync(join(source, name)).isSymbolicLink())
    .map(
      (name): Entry => ({
        path: `etc/alternatives/${name}`,
        mode: 0o777,
        uid: 0,
        link: readlinkSync(join(source, name)),
      }),
    )
    .filter((entry) => entry.link?.startsWith("/usr/"));
  return [folder("etc/alternatives"), ...links];
}

/** /bin and its kin: links on merged-usr hosts, else empty folders the helper binds over. */
function systemFolders(): Entry[] {
  const found: Entry[] = [folder("usr")];
  for (const name of SYSTEM_FOLDERS) {
    const info = lstatSync(join("/", name), { throwIfNoEntry: false });
    if (info?.isSymbolicLink()) found.push({ path: name, mode: 0o777, uid: 0, link: readlinkSync(join("/", name)) });
    else if (info?.isDirectory()) found.push(folder(name));
  }
  return found;
}

function skeleton(): Entry[] {
  const empty = ["dev", "proc", "sys", "opt", "run", "srv", "app", "tests", "solution", "logs", "mnt", "media"];
  const variable = ["var", "var/lib", "var/log", "var/cache", "var/spool"];
  return [
    ...empty.map((path) => folder(path)),
    ...variable.map((path) => folder(path)),
    folder("root", 0o700),
    folder("tmp", 0o1777),
    folder("var/tmp", 0o1777),
    { path: "var/run", mode: 0o777, uid: 0, link: "/run" },
    folder("home"),
    folder("home/agent", 0o755, 1000),
    folder("home/verifier", 0o700, 1001),
    folder("home/subject", 0o755, 1002),
    ...systemFolders(),
    ...etc(),
  ];
}

/** What a command would notice of a changed host without reading every byte of /usr. */
function hostVersions(): string[] {
  const programs = ["/usr/bin/python3", "/usr/bin/bash", "/usr/bin/dash"];
  return programs.map((path) => {
    if (!existsSync(path)) return `${path} absent`;
    const real = realpathSync(path);
    return `${real} ${statSync(real).size} ${createHash("sha256").update(readFileSync(real)).digest("hex")}`;
  });
}

const LIBRARY_FOLDERS = ["/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64"];

/** The system's library folders with their last changes: what a loader cache depends on. */
function libraryFolders(): { readonly path: string; readonly changed: number }[] {
  const multiarch = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
  return LIBRARY_FOLDERS.flatMap((path) => [path, `${path}/${multiarch}`])
    .filter((path) => existsSync(path))
    .map((path) => ({ path, changed: statSync(path).mtimeMs }));
}

/**
 * Without a loader cache each program start tries a dozen folders for each library. A machine without ldconfig has
 * sandboxes that start programs a little slower.
 */
function writeLoaderCache(root: string, ids: UserIds): void {
  const configuration = join(root, "etc/ld.so.conf");
  const cache = join(root, "etc/ld.so.cache");
  writeFileSync(
    configuration,
    `${libraryFolders()
      .map(({ path }) => path)
      .join("\n")}\n`,
  );
  try {
    execFileSync("/sbin/ldconfig", ["-X", "-f", configuration, "-C", cache], {
      stdio: "ignore",
      env: { PATH: "/usr/sbin:/sbin:/usr/bin:/bin" },
    });
  } catch {}
  if (ids.kind === "root")
    for (const path of [configuration, cache]) if (existsSync(path)) chownSync(path, SUB_UID, SUB_UID);
}

/**
 * Builds the skeleton, or finds it built: one for each kind of ownership, because overlay in a user namespace works only on
 * files of its own ids. `helper` is the built helper program, which an ordinary user with a range of ids needs.
 */
export function buildHostImage(
  runtime: Runtime,
  imageFolder: string = join(cacheFolder(), "images"),
  helper?: string,
  ids: UserIds = userIds(),
): HostImage {
  const entries = skeleton();
  const skeletonHash = createHash("sha256")
    .update(JSON.stringify([entries, libraryFolders()]))
    .digest("hex");
  const hash = createHash("sha256")
    .update(JSON.stringify([skeletonHash, hostVersions()]))
    .digest("hex");
  const owner = ids.kind === "root" ? "" : `-${ids.kind}-${ids.base}`;
  const target = join(imageFolder, `host-${skeletonHash.slice(0, 24)}${owner}`);
  if (existsSync(target)) return { folder: target, hash };
  const temporary = `${target}.${runtime.id()}`;
  mkdirSync(temporary, { recursive: true, mode: 0o755 });
  const all = [folder("."), ...entries];
  try {
    for (const entry of all) place(temporary, entry, ids);
    writeLoaderCache(temporary, ids);
    if (ids.kind === "range") giveToRange(temporary, all, requireHelper(helper));
    renameSync(temporary, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  } finally {
    removeTree(temporary, ids, helper);
  }
  return { folder: target, hash };
}

function place(root: string, entry: Entry, ids: UserIds): void {
  const path = join(root, entry.path);
  mkdirSync(dirname(path), { recursive: true });
  if (entry.link !== undefined) symlinkSync(entry.link, path);
  else if (entry.text !== undefined) writeFileSync(path, entry.text);
  else mkdirSync(path, { recursive: true });
  if (ids.kind === "root") lchownSync(path, SUB_UID + entry.uid, SUB_UID + entry.uid);
  if (entry.link === undefined) chmodSync(path, entry.mode);
}

/** Only inside a namespace of the user's range may the user give files to the ids of that range. */
function giveToRange(root: string, entries: readonly Entry[], helper: string): void {
  const give = (uid: number, ...paths: readonly string[]): void => {
    const owner = `${SUB_UID + uid}:${SUB_UID + uid}`;
    execFileSync(helper, ["inside", "chown", ...(uid === 0 ? ["-hR"] : ["-h"]), owner, ...paths], inRange);
  };
  give(0, root);
  for (const entry of entries) if (entry.uid !== 0) give(entry.uid, join(root, entry.path));
}

const inRange = { stdio: "ignore", env: { PATH: "/usr/bin:/bin", SANDLOT_IDS: "range" } } as const;

function removeTree(path: string, ids: UserIds, helper: string | undefined): void {
  if (!existsSync(path)) return;
  if (ids.kind === "range" && helper !== undefined) execFileSync(helper, ["inside", "rm", "-rf", path], inRange);
  else rmSync(path, { recursive: true, force: true });
}

function requireHelper(helper: string | undefined): string {
  if (helper !== undefined) return helper;
  throw new Failure("unexpected", "The host image of a range of ids is made with the helper, which was not given.");
}
