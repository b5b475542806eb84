/** Whether an artifact is what its rule says: read in a thread with limits, so that hostile bytes stop no platform. */
import { Worker } from "node:worker_threads";
import type { ArtifactRule } from "../core/task.ts";

/** Kinds whose bytes are read; the others only say whether a file or a folder is wanted. */
export type ParsedKind = Exclude<NonNullable<ArtifactRule["kind"]>, "file" | "tree">;

/** JSON and CSV take several times their size while they are read. */
const HEAP_MIB_MIN = 64;
const HEAP_PER_BYTE = 16;
const MIB = 1024 * 1024;

/** Null when the bytes are of the kind, else the reason in a few words. Takes time in proportion to the bytes. Never throws. */
export function kindFault(kind: ParsedKind, bytes: Uint8Array): Promise<string | null> {
  const file = import.meta.url.endsWith(".ts") ? "./artifact-worker.ts" : "./artifact-worker.js";
  const heapMib = HEAP_MIB_MIN + Math.ceil((bytes.length * HEAP_PER_BYTE) / MIB);
  const worker = new Worker(new URL(file, import.meta.url), {
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 32 },
  });
  return new Promise<string | null>((resolve) => {
    worker.on("message", (reply: { readonly fault: string | null }) => {
      resolve(reply.fault === null ? null : `no ${kind}: ${reply.fault.replace(/[^ -~]/g, "?")}`);
      worker.terminate().catch(() => undefined);
    });
    worker.on("error", (error) => resolve(`no ${kind} that can be read within its limits: ${error.message}`));
    worker.on("exit", () => resolve(`no ${kind} that can be read within its limits`));
    worker.postMessage({ kind, bytes });
  });
}
