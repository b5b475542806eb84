/**
 * Ends all that the agent runs and takes out, as data, what its task's contract names: the answer, declared files, or
 * the work folder. Regular files only, links never followed, within the contract's caps. What the agent did not make is
 * listed as missing (a failed test); what the collector lost is thrown (a verifier fault).
 */
import { hash } from "node:crypto";
import { Failure } from "../core/errors.ts";
import type { FileContent, FileError, Sandbox } from "../core/sandbox.ts";
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
  const missing: string[] = [];
  for (const rule of rules) {
    const isThere = await takePath(sandbox, rule.path, taken);
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
async function takePath(sandbox: Sandbox, path: string, basket: Basket): Promise<boolean> {
  const read = await sandbox.files.read(path, { bytesMax: basket.bytesLeft });
  if (read.ok) {
    basket.add({ path, bytes: read.value, mode: await modeOf(sandbox, path) });
    return true;
  }
  if (read.error === "too_large") basket.isOver = true;
  if (read.error !== "is_directory") return explain(path, read.error, read.message);
  const listed = await sandbox.files.list(path, { recursive: true, entriesMax: basket.entriesMax });
  if (!listed.ok) {
    if (listed.error === "too_large") basket.isOver = true;
    return explain(path, listed.error, listed.message);
  }
  for (const entry of listed.value) {
    if (entry.kind !== "file") continue;
    const filePath = `${path.replace(/\/$/, "")}/${entry.path}`;
    const content = await sandbox.files.read(filePath, { bytesMax: basket.bytesLeft });
    if (content.ok) basket.add({ path: filePath, bytes: content.value, mode: entry.mode });
    else if (content.error === "too_large") basket.isOver = true;
    else explain(filePath, content.error, content.message);
    if (basket.isOver) return true;
  }
  return true;
}

/** False for a path the agent is answerable for; throws for one that the collector could not take. */
function explain(path: string, error: FileError, message: string): false {
  if (AGENT_ERRORS.includes(error)) return false;
  throw new Failure(
    "artifact_lost",
    `The artifact ${path} could not be taken out of the sandbox (${error}): ${message}`,
  );
}

/** Permission bits of a file, from the listing of its folder; 0644 where the folder is too large to list. */
async function modeOf(sandbox: Sandbox, path: string): Promise<number> {
  const slash = path.lastIndexOf("/");
  const listed = await sandbox.files.list(path.slice(0, slash) || "/", { recursive: false, entriesMax: 10_000 });
  if (!listed.ok) return 0o644;
  return listed.value.find((entry) => entry.path === path.slice(slash + 1))?.mode ?? 0o644;
}
