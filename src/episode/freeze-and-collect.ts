/**
 * Ends all that the agent runs and takes out, as data, what its task's contract names: the answer, declared files, or
 * the work folder. Regular files only, links never followed, within the contract's caps. What the agent did not make, or
 * made as something else, is listed as missing (a failed test); what the collector lost is thrown (a verifier fault).
 */
import { hash } from "node:crypto";
import { toFailure } from "../core/errors.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { ArtifactContract, ArtifactRule } from "../core/task.ts";
import type { Artifacts, RefusedArtifact } from "../core/verifier.ts";
import { Basket, plainName } from "./artifact-basket.ts";
import { explain, Folders } from "./artifact-folders.ts";
import { kindFault } from "./artifact-kinds.ts";

/** Of one command that a contract asks to be run before the freeze. */
const COLLECT_MS = 60_000;
const COLLECT_OUTPUT_BYTES_MAX = 4_096;

/** Where a task's visible tests lie in the agent's sandbox, and how much of them crosses. */
const VISIBLE = { path: "/visible", bytesMax: 1024 * 1024, entriesMax: 1_000 } as const;

/** What crossed, and what was seen on the way. */
export interface Collected {
  readonly artifacts: Artifacts;
  /** True when more was written than the contract allows, so that nothing of it was taken. */
  readonly isOverCaps: boolean;
}

export interface CollectOptions {
  /** Of `contract.collect`; default `agent`. */
  readonly user?: string;
  /** Whether the task has files under `/visible`; default false. */
  readonly hasVisibleFiles?: boolean;
  readonly signal?: AbortSignal;
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
  options: CollectOptions = {},
): Promise<Collected> {
  if (contract.state === "answer" || sandbox === null) return whole(answer, [], []);
  const basket = new Basket(contract);
  await runCollect(contract, workdir, sandbox, options, basket);
  await sandbox.freeze();
  const rules = contract.state === "workdir" ? [{ path: workdir, required: true }] : contract.files;
  const folders = new Folders(sandbox);
  const missing: string[] = [];
  for (const rule of rules) {
    const isThere = await takeRule(folders, rule, basket);
    if (basket.isOver) return { ...whole(answer, [], missing, basket.refused), isOverCaps: true };
    if (!isThere && rule.required) missing.push(rule.path);
  }
  const visible = options.hasVisibleFiles === true ? await takeVisible(folders, contract, basket) : [];
  return whole(answer, basket.files, missing, basket.refused, visible);
}

function whole(
  answer: string | null,
  files: readonly FileContent[],
  missing: readonly string[],
  refused: readonly RefusedArtifact[] = [],
  visible: readonly FileContent[] = [],
): Collected {
  const [taken, seen] = [sorted(files), sorted(visible)];
  return {
    artifacts: {
      answer,
      files: taken,
      missing,
      ...(refused.length === 0 ? {} : { refused }),
      ...(seen.length === 0 ? {} : { visible: seen }),
      hash: artifactsHash(answer, taken, missing, seen),
    },
    isOverCaps: false,
  };
}

function sorted(files: readonly FileContent[]): readonly FileContent[] {
  return [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/**
 * SHA-256 over the answer, each file's path, permission bits and content, what is missing and, where there are any, the
 * visible files, because the signal of the visible suite is part of a verdict. Why something was refused is not: it
 * explains what is missing already.
 */
export function artifactsHash(
  answer: string | null,
  files: readonly FileContent[],
  missing: readonly string[],
  visible: readonly FileContent[] = [],
): string {
  const parts = (some: readonly FileContent[]) =>
    some.map((file) => [file.path, file.mode & 0o7777, hash("sha256", file.bytes, "hex")]);
  const all = [answer, parts(files), missing, ...(visible.length === 0 ? [] : [parts(visible)])];
  return hash("sha256", JSON.stringify(all), "hex");
}

/** Commands of the task, as the agent's user among what the agent left: how they end proves nothing and is only told. */
async function runCollect(
  contract: ArtifactContract,
  workdir: string,
  sandbox: Sandbox,
  { user = "agent", signal }: CollectOptions,
  basket: Basket,
): Promise<void> {
  for (const command of contract.collect ?? []) {
    const result = await sandbox.exec(command, {
      user,
      cwd: workdir,
      timeoutMs: COLLECT_MS,
      outputBytesMax: COLLECT_OUTPUT_BYTES_MAX,
      descendants: "kill",
      ...(signal === undefined ? {} : { signal }),
    });
    if (result.exitCode === 0) continue;
    const how = result.exitCode === null ? result.verdict : `exit code ${result.exitCode}`;
    basket.refuse(workdir, `the command "${command.slice(0, 80)}", run before collecting, failed (${how})`);
  }
}

/** Takes what a rule names. False when the agent left nothing there that is what the rule says. */
async function takeRule(folders: Folders, rule: ArtifactRule, basket: Basket): Promise<boolean> {
  const standing = await folders.standing(rule.path);
  if (standing.entry === null) {
    if (!standing.isAbsent) basket.refuse(rule.path, standing.reason);
    return false;
  }
  const { kind, mode, bytes } = standing.entry;
  const wanted = rule.kind === undefined ? kind : rule.kind === "tree" ? "folder" : "file";
  if (kind !== wanted) {
    basket.refuse(rule.path, `it is a ${kind}; the contract wants a ${wanted}`);
    return false;
  }
  if (kind === "folder") return takeFolder(folders, rule, basket);
  return takeFile(folders, rule, { mode, bytes }, basket);
}

async function takeFile(
  { sandbox }: Folders,
  rule: ArtifactRule,
  known: { readonly mode: number; readonly bytes: number },
  basket: Basket,
): Promise<boolean> {
  const { path, bytesMax = Infinity } = rule;
  // A sparse file says its size without having it, so it is never read.
  if (known.bytes > bytesMax) return refusedSize(rule, basket);
  const read = await sandbox.files.read(path, { bytesMax: Math.min(basket.bytesLeft, bytesMax) });
  if (!read.ok) {
    if (read.error === "too_large") basket.isOver = true;
    basket.refuse(path, read.message);
    explain(path, read.error, read.message);
    return false;
  }
  const kind = rule.kind === "file" || rule.kind === "tree" ? undefined : rule.kind;
  const fault = kind === undefined ? null : await kindFault(kind, read.value);
  if (fault === null) return basket.add({ path, bytes: read.value, mode: known.mode });
  basket.refuse(path, fault);
  return false;
}

async function takeFolder(folders: Folders, rule: ArtifactRule, basket: Basket): Promise<boolean> {
  const { path, bytesMax = Infinity, entriesMax = Infinity } = rule;
  const limits = {
    bytesMax: Math.min(basket.bytesLeft, bytesMax),
    entriesMax: Math.min(basket.entriesMax, entriesMax),
  };
  const read = await folders.sandbox.files.readTree(path, {
    ...limits,
    onRefused: (entry) => basket.refuse(plainName(entry), "it is a link, device, FIFO or socket"),
  });
  if (!read.ok) {
    if (read.error === "too_large") {
      if (isOwnCap(rule, basket)) return refusedSize(rule, basket);
      basket.isOver = true;
    }
    basket.refuse(path, read.message);
    explain(path, read.error, read.message);
    return false;
  }
  for (const file of read.value) {
    basket.add(file);
    if (basket.isOver) break;
  }
  return true;
}

/** Whether a rule's own cap is the narrower one, so that its artifact alone counts as not made. */
function isOwnCap({ bytesMax = Infinity, entriesMax = Infinity }: ArtifactRule, basket: Basket): boolean {
  return bytesMax < basket.bytesLeft || entriesMax < basket.entriesMax;
}

function refusedSize({ path, bytesMax, entriesMax }: ArtifactRule, basket: Basket): false {
  const caps = [
    bytesMax === undefined ? [] : `${bytesMax} bytes`,
    entriesMax === undefined ? [] : `${entriesMax} entries`,
  ];
  basket.refuse(path, `it has more than ${caps.flat().join(" or ")}, the most its rule allows`);
  return false;
}

/** What the agent left of its visible tests, kept apart. Too much of it is a signal lost and nothing else. */
async function takeVisible(
  folders: Folders,
  contract: ArtifactContract,
  basket: Basket,
): Promise<readonly FileContent[]> {
  const apart = new Basket({ ...contract, bytesMax: VISIBLE.bytesMax, entriesMax: VISIBLE.entriesMax });
  try {
    await takeRule(folders, { ...VISIBLE, required: false, kind: "tree" }, apart);
  } catch (error) {
    if (toFailure(error).code !== "artifact_lost") throw error;
    basket.refuse(VISIBLE.path, toFailure(error).message);
  }
  for (const { path, reason } of apart.refused) basket.refuse(path, reason);
  return apart.isOver ? [] : apart.files;
}
