/**
 * What a sandbox changed since its image or the snapshot it stands on, as a list and as a layer, both told by its agent
 * from the upper folder of the overlay (`native/helper/diff.c`, `diff-export.c`). Where processes still write, each entry
 * is as it was when it was looked at.
 */
import { Failure } from "../core/errors.ts";
import type { FileChange } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { type FileAnswer, fileJobOutput, persist, TREE_MS } from "./sandbox-files-job.ts";

/** When the caller names no bound. */
const ENTRIES_MAX = 100_000;
/** Of all records: a name may be long, and what a sandbox writes must not fill this process. */
const DIFF_BYTES_MAX = 64 << 20;

/**
 * A folder that was removed is one change, whatever was below it. An entry that was touched, with the same kind, bits,
 * owner and content, is none. Throws `request_invalid` beyond `entriesMax` or 64 MiB of names, `unsupported` where the
 * sandbox has no layer of its own, `sandbox_busy` when its processes ended the search again and again.
 */
export async function sandboxDiff(context: CommandContext, entriesMax = ENTRIES_MAX): Promise<FileChange[]> {
  const bound = Math.max(0, Math.floor(entriesMax));
  const { answer, changes } = await persist(async () => {
    const pieces: Uint8Array[] = [];
    const output = fileJobOutput(context, { kind: JOB.diff, argv: ["/", String(bound)], timeoutMs: TREE_MS });
    let bytes = 0;
    let next = await output.next();
    for (; next.done !== true; next = await output.next()) {
      pieces.push(next.value);
      bytes += next.value.length;
      if (bytes <= DIFF_BYTES_MAX) continue;
      await output.return(undefined);
      return { answer: "too_large" as const, changes: [] };
    }
    return { answer: next.value?.answer ?? "killed", changes: parseChanges(Buffer.concat(pieces)) };
  });
  if (answer !== "done") throw notDone("diff", answer, context, bound);
  return changes.sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
}

/**
 * The same as a tar stream in the OCI layer format. It is made as it is read; a reader that stops ends it. Devices,
 * FIFOs, sockets, extended attributes and names that begin with `.wh.` stay out. Throws as `sandboxDiff` does, and
 * `request_invalid` for a file of 8 GiB or more, or when holes and hard links make the layer over 256 MiB larger than what
 * the sandbox holds.
 */
export async function* exportLayer(context: CommandContext): AsyncGenerator<Uint8Array, void, undefined> {
  const output = fileJobOutput(context, { kind: JOB.layer, argv: ["/"], timeoutMs: TREE_MS });
  const end = yield* output;
  if (end?.answer !== "done") throw notDone("export", end?.answer ?? "killed", context, null);
}

function notDone(what: string, answer: FileAnswer, context: CommandContext, entriesMax: number | null): Failure {
  const { id } = context.client;
  if (answer === "unsupported")
    return new Failure("unsupported", `Sandbox ${id} keeps no layer of its own, so there is no ${what}.`);
  if (answer !== "too_large")
    return new Failure("sandbox_busy", `The ${what} of sandbox ${id} was not finished (${answer}); freeze it first.`);
  const why =
    entriesMax === null
      ? "has a file or a folder too large for a layer, or holes or hard links that make it so"
      : `has over ${entriesMax} changes or ${DIFF_BYTES_MAX >> 20} MiB of names`;
  return new Failure("request_invalid", `Sandbox ${id} ${why}, or folders too deep, for its ${what}.`);
}

const CHANGES: Readonly<Record<string, FileChange["change"]>> = { a: "added", m: "modified", r: "removed" };
const KINDS: Readonly<Record<string, FileChange["kind"]>> = { f: "file", d: "folder", l: "link", o: "other" };

function parseChanges(bytes: Buffer): FileChange[] {
  const records = bytesToName(bytes).split("\0");
  records.pop();
  return records.map((record): FileChange => {
    const [change = "", kind = "", size = "", hash = ""] = record.split(" ", 4);
    const path = record.slice(change.length + kind.length + size.length + hash.length + 4);
    return {
      path: `/${path}`,
      change: CHANGES[change] ?? "modified",
      kind: KINDS[kind] ?? null,
      bytes: kind === "f" ? Number(size) : null,
      sha256: hash === "-" ? null : hash,
    };
  });
}
