/**
 * Ends all that the agent runs and takes out, as data, what its task's contract names: the answer, declared files, or
 * the work folder. Regular files only, links never followed, within the contract's caps. What the agent did not make is
 * listed as missing (a failed test); what the collector lost is thrown (a verifier fault).
 */
import { hash } from "node:crypto";
import { Failure } from "../core/errors.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileContent, FileEntry, FileError } from "../core/sandbox-files.ts";
import type { ArtifactContract } from "../core/task.ts";
import type { Artifacts } from "../core/verifier.ts";

/** Errors of a path that the agent's own doing explains; anything else means that the collector lost it. */
const AGENT_ERRORS: readonly FileError[] = [
  "missing",
  "not_regular",
  "is_directory",
  "not_directory",
  "refused_link",
  "too_large",
  "denied",
];

/** Names in one folder on the way to an artifact; more are the agent's doing. */
const FOLDER_ENTRIES_MAX = 100_000;

export interface Collected {
  readonly artifacts: Artifacts;
  /** True when more was written than the contract allows, so that nothing of it was taken. */
  readonly isOverCaps: boolean;
}

/**
 * Freezes the sandbox and collects by contract. `sandbox` is null when no sandbox is needed: the contract is `answer`.
 * Throws `artifact_lost`, or the sandbox's own failure.
 */
export async function freezeAndCollect(
  contract: ArtifactContract,
  workdir: string,
  answer: string | null,
  sandbox: Sandbox | null,
): Promise<Collected> {
  if (contract.state === "answer" || sandbox === null) return whole(answer, [], []);
  await sandbox.freeze();
  const rules = contract.state === "workdir" ? [{ path: workdir, required: true }] : contract.files;
  const taken = new Basket(contract);
  const folders = new Folders(sandbox);
  const missing: string[] = [];
  for (const rule of rules) {
    const isThere = await takePath(folders, rule.path, taken);
    if (taken.isOver) return { ...whole(answer, [], missing), isOverCaps: true };
    if (!isThere && rule.required) missing.push(rule.path);
  }
  return whole(answer, taken.files, missing);
}

function whole(answer: string | null, files: readonly FileContent[], missing: readonly string[]): Collected {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return {
    artifacts: { answer, files: sorted, missing, hash: artifactsHash(answer, sorted, missing) },
    isOverCaps: false,
  };
}

/** SHA-256 over the answer, each file's path, permission bits and content, and what is missing. */
export function artifactsHash(
  answer: string | null,
  files: readonly FileContent[],
  missing: readonly string[],
): string {
  const parts = files.map((file) => [file.path, file.mode & 0o7777, hash("sha256", file.bytes, "hex")]);
  return hash("sha256", JSON.stringify([answer, parts, missing]), "hex");
}

/** What has been taken so far, against the contract's caps. */
class Basket {
  readonly files: FileContent[] = [];
  readonly #contract: ArtifactContract;
  #bytes = 0;
  isOver = false;

  constructor(contract: ArtifactContract) {
    this.#contract = contract;
  }

  get bytesLeft(): number {
    return this.#contract.bytesMax - this.#bytes;
  }

  get entriesMax(): number {
    return this.#contract.entriesMax;
  }

  add(file: FileContent): void {
    this.#bytes += file.bytes.length;
    this.files.push(file);
    if (this.#bytes > this.#contract.bytesMax || this.files.length > this.#contract.entriesMax) this.isOver = true;
  }
}

/** Takes a file, or every regular file below a folder. False when the agent left nothing usable there. */
async function takePath(folders: Folders, path: string, basket: Basket): Promise<boolean> {
  const { sandbox } = folders;
  const found = await folders.entry(path);
  if (found === null) return false;
  if (found.kind === "file") return takeFile(sandbox, path, found.mode, basket);
  const read = await sandbox.files.readTree(path, { bytesMax: basket.bytesLeft, entriesMax: basket.entriesMax });
  if (!read.ok) {
    if (read.error === "too_large") basket.isOver = true;
    return explain(path, read.error, read.message);
  }
  for (const file of read.value) {
    /* A name that is no UTF-8 has no place in a record, which is text; a contract cannot name it either. */
    if (file.path.isWellFormed()) basket.add(file);
    if (basket.isOver) break;
  }
  return true;
}

async function takeFile(sandbox: Sandbox, path: string, mode: number, basket: Basket): Promise<boolean> {
  const read = await sandbox.files.read(path, { bytesMax: basket.bytesLeft });
  if (read.ok) {
    basket.add({ path, bytes: read.value, mode });
    return true;
  }
  if (read.error === "too_large") basket.isOver = true;
  return explain(path, read.error, read.message);
}

/** False for a path the agent is answerable for; throws for one that the collector could not take. */
function explain(path: string, error: FileError, message: string): false {
  if (AGENT_ERRORS.includes(error)) return false;
  throw new Failure(
    "artifact_lost",
    `The artifact ${path} could not be taken out of the sandbox (${error}): ${message}`,
  );
}

/**
 * Says what really stands at a path, part by part, so that no link is followed: reading alone would follow one. The
 * sandbox is frozen, so what was seen stays true. Folders are listed once.
 */
class Folders {
  readonly sandbox: Sandbox;
  readonly #listings = new Map<string, readonly FileEntry[]>();

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  /** The file or folder at an absolute path; null when there is none, or something else, or a link on the way. */
  async entry(path: string): Promise<FileEntry | null> {
    let found: FileEntry = { path: "/", kind: "folder", bytes: 0, mode: 0o755 };
    let folder = "";
    for (const part of path.split("/").filter((name) => name !== "")) {
      const next = (await this.#list(folder === "" ? "/" : folder)).find((entry) => entry.path === part);
      if (found.kind !== "folder" || next === undefined) return null;
      found = next;
      folder = `${folder}/${part}`;
      if (found.kind !== "file" && found.kind !== "folder") return null;
    }
    return found;
  }

  async #list(folder: string): Promise<readonly FileEntry[]> {
    const known = this.#listings.get(folder);
    if (known !== undefined) return known;
    const listed = await this.sandbox.files.list(folder, { recursive: false, entriesMax: FOLDER_ENTRIES_MAX });
    const entries = listed.ok ? listed.value : [];
    if (!listed.ok) explain(folder, listed.error, listed.message);
    this.#listings.set(folder, entries);
    return entries;
  }
}
