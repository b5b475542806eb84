/** Changes below a folder of a sandbox, as its agent tells them (`native/helper/watch.c`), until the caller has enough. */
import type { FileResult, WatchEvent } from "../core/sandbox-files.ts";
import { bytesToName } from "./byte-names.ts";
import type { CommandContext } from "./command-context.ts";
import { JOB } from "./frames.ts";
import { ENDLESS_MS, isSandboxPath, refused, runFileJob } from "./sandbox-files-job.ts";

const KINDS: Readonly<Record<string, WatchEvent["kind"]>> = { c: "created", m: "modified", r: "removed" };

/**
 * `too_large` when changes came faster than they could be told, or there are more folders than can be watched; `denied`
 * when something in the sandbox ended the watch. What `onEvent` throws is thrown here, and ends the watch.
 */
export async function watchTree(
  context: CommandContext,
  path: string,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<FileResult<null>> {
  if (!isSandboxPath(path)) return refused("invalid_path", path);
  const folder = path.replace(/\/+$/, "");
  const failed = new AbortController();
  const take = recordReader((record) => {
    const kind = KINDS[record.slice(0, 1)];
    if (kind !== undefined && !signal.aborted) onEvent({ path: `${folder}/${record.slice(2)}`, kind });
  });
  const { answer } = await runFileJob(context, {
    kind: JOB.watch,
    argv: [path],
    timeoutMs: ENDLESS_MS,
    signal: AbortSignal.any([signal, failed.signal]),
    onBytes: (bytes) => {
      if (failed.signal.aborted) return;
      try {
        take(bytes);
      } catch (error) {
        failed.abort(error);
      }
    },
  });
  if (failed.signal.aborted) throw failed.signal.reason;
  return signal.aborted ? { ok: true, value: null } : refused(answer, path);
}

/** Cuts bytes into texts that end with NUL, whatever the borders of the pieces. */
function recordReader(onRecord: (record: string) => void): (bytes: Uint8Array) => void {
  let held = Buffer.alloc(0);
  return (bytes) => {
    let rest = Buffer.concat([held, bytes]);
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
      onRecord(bytesToName(rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    held = rest;
  };
}
