/**
 * Gives every image what a sandbox counts on: folders to mount over, the users agent, verifier and subject with their
 * homes, and an /etc that names the sandbox and nothing else. Works on a tree that hostile bytes may have shaped: each
 * parent must be a real folder, and nothing is written through a link.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ArchiveError } from "./byte-reader.ts";
import type { ImageOwnership } from "./image-contract.ts";

const USERS = [
  { name: "root", id: 0, home: "/root" },
  { name: "agent", id: 1000, home: "/home/agent" },
  { name: "verifier", id: 1001, home: "/home/verifier" },
  { name: "subject", id: 1002, home: "/home/subject" },
] as const;

interface Folder {
  readonly path: string;
  readonly mode: number;
  readonly id: number;
  /** A mount needs a real folder here; elsewhere a link of the image's own is kept. */
  readonly isMount: boolean;
}

function folder(path: string, mode = 0o755, id = 0, isMount = false): Folder {
  return { path, mode, id, isMount };
}

const FOLDERS: readonly Folder[] = [
  ...["dev", "proc", "sys"].map((path) => folder(path, 0o755, 0, true)),
  ...["etc", "run", "var", "home", "opt", "app", "tests", "solution", "logs"].map((path) => folder(path)),
  folder("tmp", 0o1777),
  folder("var/tmp", 0o1777),
  folder("root", 0o700),
  folder("home/agent", 0o755, 1000),
  folder("home/verifier", 0o700, 1001),
  folder("home/subject", 0o755, 1002),
];

const TEXTS: Readonly<Record<string, string>> = {
  "etc/hostname": "sandbox\n",
  "etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
  "etc/resolv.conf": "",
  "etc/machine-id": "",
};

/** Throws ArchiveError when a file or link stands where a folder must be. */
export function prepareTree(root: string, ownership: ImageOwnership): void {
  const owner = (id: number): number => (ownership.isSingle ? ownership.base : ownership.base + id);
  for (const entry of FOLDERS) makeFolder(root, entry, owner(entry.id));
  for (const [path, text] of Object.entries(TEXTS)) replaceFile(root, path, text, owner(0));
  const passwd = readText(root, "etc/passwd");
  const group = readText(root, "etc/group");
  const shell = isPresent(root, "bin/bash") || isPresent(root, "usr/bin/bash") ? "/bin/bash" : "/bin/sh";
  addLines(
    root,
    "etc/passwd",
    passwd,
    owner(0),
    ({ name, id, home }) => `${name}:x:${id}:${id}:${name}:${home}:${shell}`,
  );
  addLines(root, "etc/group", group, owner(0), ({ name, id }) => `${name}:x:${id}:`);
}

function makeFolder(root: string, { path, mode, isMount }: Folder, owner: number): void {
  const at = join(root, path);
  const parent = path.includes("/") ? lstatSync(join(root, path, "..")) : null;
  /* Below a link of the image, such as /home -> /var/home, its own folders serve. */
  if (parent?.isDirectory() === false) return;
  const found = lstatSync(at, { throwIfNoEntry: false });
  if (found !== undefined) {
    if (!found.isDirectory() && (isMount || path === "etc"))
      throw new ArchiveError(`has /${path}, which must be a folder and is a file or link`);
    return;
  }
  mkdirSync(at, mode);
  chmodSync(at, mode);
  lchownSync(at, owner, owner);
}

function isPresent(root: string, path: string): boolean {
  return lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}

function readText(root: string, path: string): string {
  const info = lstatSync(join(root, path), { throwIfNoEntry: false });
  return info?.isFile() === true ? readFileSync(join(root, path), "utf8") : "";
}

/** Keeps what the image has; a user of ours is added where its name is missing. */
function addLines(
  root: string,
  path: string,
  text: string,
  owner: number,
  line: (user: (typeof USERS)[number]) => string,
): void {
  const known = new Set(text.split("\n").map((each) => each.split(":")[0]));
  const missing = USERS.filter(({ name }) => !known.has(name));
  if (missing.length === 0) return;
  const kept = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  replaceFile(root, path, `${kept}${missing.map(line).join("\n")}\n`, owner);
}

/** A link or file that had the name is removed, never written through. */
function replaceFile(root: string, path: string, text: string, owner: number): void {
  const at = join(root, path);
  const found = lstatSync(at, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw new ArchiveError(`has a folder at /${path}, which must be a file`);
  if (found !== undefined) unlinkSync(at);
  const file = openSync(at, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o644);
  try {
    writeFileSync(file, text);
    fchmodSync(file, 0o644);
    fchownSync(file, owner, owner);
  } finally {
    closeSync(file);
  }
}
