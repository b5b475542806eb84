/**
 * The `file` predicate: what lies at a path of the agent's sandbox. Links are never followed, so a milestone cannot be
 * pointed at a file the agent did not make. Content is hostile: it is hashed in pieces, and a pattern is tried on it in
 * a thread that can be ended.
 */
import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { canonicalJson, type Json } from "../core/json.ts";
import { pointed } from "../core/json-pointer.ts";
import type { Predicate, Truth } from "../core/milestone.ts";
import type { FileResult, SandboxFiles } from "../core/sandbox-files.ts";
import type { Look } from "./milestone-look.ts";

type FilePredicate = Extract<Predicate, { readonly kind: "file" }>;

const TEXT_BYTES_MAX = 1024 * 1024;
const HASH_BYTES_MAX = 256 * 1024 * 1024;
const PIECE_BYTES = 4 * 1024 * 1024;

/** False where something else, or nothing, lies there; unknown where the way is barred or the content too large. */
export async function lookAtFile(predicate: FilePredicate, look: Look): Promise<Truth> {
  const { files } = look.sandbox;
  if (await leadsThroughLink(files, predicate.path)) return "unknown";
  const status = await files.stat(predicate.path);
  if (!status.ok) {
    const isAbsent = status.error === "missing" || status.error === "not_directory";
    return isAbsent ? predicate.exists === false : "unknown";
  }
  if (predicate.exists === false) return false;
  if (!asksContent(predicate)) return true;
  const { kind, bytes } = status.value;
  if (kind !== "file") return false;
  if (bytes < (predicate.bytesMin ?? 0) || bytes > (predicate.bytesMax ?? Number.POSITIVE_INFINITY)) return false;
  if (predicate.sha256 !== undefined) {
    const sha256 = await hashOf(files, predicate.path, look.signal);
    if (sha256 === null) return "unknown";
    if (sha256 !== predicate.sha256.toLowerCase()) return false;
  }
  if (predicate.regex !== undefined) {
    const head = textOf(await files.readRange(predicate.path, { offset: 0, bytes: TEXT_BYTES_MAX }));
    if (head === null) return "unknown";
    const isMatched = await matches(predicate.regex, head, look.signal);
    if (isMatched !== true) return isMatched;
  }
  if (predicate.json === undefined) return true;
  const text = textOf(await files.read(predicate.path, { bytesMax: TEXT_BYTES_MAX }));
  return text === null ? "unknown" : jsonEquals(text, predicate.json);
}

/** Whether a folder above this path is a link; a link at the path itself is for the caller to see. */
export async function leadsThroughLink(files: SandboxFiles, path: string): Promise<boolean> {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const folders = parts.slice(0, -1).map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
  const looks = await Promise.all(folders.map((folder) => files.stat(folder)));
  return looks.some((status) => status.ok && status.value.kind === "link");
}

function asksContent({ bytesMin, bytesMax, sha256, regex, json }: FilePredicate): boolean {
  return [bytesMin, bytesMax, sha256, regex, json].some((field) => field !== undefined);
}

async function hashOf(files: SandboxFiles, path: string, signal: AbortSignal): Promise<string | null> {
  const hash = createHash("sha256");
  for (let offset = 0; offset <= HASH_BYTES_MAX; ) {
    signal.throwIfAborted();
    const piece = await files.readRange(path, { offset, bytes: PIECE_BYTES });
    if (!piece.ok) return null;
    hash.update(piece.value);
    offset += piece.value.length;
    if (piece.value.length < PIECE_BYTES) return hash.digest("hex");
  }
  return null;
}

function textOf(read: FileResult<Uint8Array>): string | null {
  return read.ok ? Buffer.from(read.value).toString("utf8") : null;
}

/** Whether the value that an RFC 6901 pointer names in this JSON text equals the wanted one; text that is none does not. */
export function jsonEquals(text: string, wanted: { readonly pointer: string; readonly equals: Json }): boolean {
  try {
    const value = pointed(JSON.parse(text), wanted.pointer);
    return value !== undefined && canonicalJson(value) === canonicalJson(wanted.equals);
  } catch {
    return false;
  }
}

const MATCHER = `
const { parentPort, workerData } = require("node:worker_threads");
parentPort.postMessage(new RegExp(workerData.regex, "u").test(workerData.text));
`;

/** A pattern may take exponential time on text made for it, so the thread it runs in ends with the predicate's time. */
async function matches(regex: string, text: string, signal: AbortSignal): Promise<Truth> {
  const worker = new Worker(MATCHER, {
    eval: true,
    workerData: { regex, text },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  });
  try {
    return await new Promise<Truth>((resolve) => {
      worker.once("message", (isMatched) => resolve(isMatched === true));
      worker.once("error", () => resolve("unknown"));
      worker.once("exit", () => resolve("unknown"));
      signal.addEventListener("abort", () => resolve("unknown"), { once: true });
    });
  } finally {
    await worker.terminate();
  }
}
