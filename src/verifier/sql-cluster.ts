/**
 * An empty PostgreSQL cluster of an image, made once and unpacked in each grading: making one takes most of a grading.
 * It is made by the image's own programs in a sandbox where nothing of an agent lies or has run yet.
 */
import { Failure } from "../core/errors.ts";
import { placeFiles } from "./place-files.ts";
import { SQL_ENVIRONMENT, type SqlPlace, sqlProgram } from "./sql-engine.ts";

const PATH = "/run/sql-cluster";
const MAKE_MS = 120_000;
const PACKED_BYTES_MAX = 32 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 16 * 1024;
/** Images a process grades in; beyond it the oldest is made again. */
const IMAGES_MAX = 4;

const packed = new Map<string, Uint8Array>();

/**
 * Puts the cluster of the sandbox's image in it; call it before anything of an agent is there. Gives its path, null
 * where the image cannot make one, which the start of the engine then explains.
 */
export async function placeCluster(place: SqlPlace): Promise<string | null> {
  const { sandbox, signal } = place;
  const { imageHash } = sandbox.info;
  const bytes = packed.get(imageHash) ?? (await make(place));
  if (bytes === null) return null;
  const oldest = packed.size < IMAGES_MAX || packed.has(imageHash) ? undefined : packed.keys().next().value;
  if (oldest !== undefined) packed.delete(oldest);
  packed.set(imageHash, bytes);
  await placeFiles(sandbox, [{ path: PATH, bytes, mode: 0o444, owner: "root", isRequired: true }], signal);
  return PATH;
}

async function make({ sandbox, runtime, signal }: SqlPlace): Promise<Uint8Array | null> {
  const nonce = Buffer.from(runtime.randomBytes(16)).toString("hex");
  const chunks: Uint8Array[] = [];
  const result = await sandbox.exec(sqlProgram("postgresql"), {
    user: "subject",
    cwd: "/",
    envVars: SQL_ENVIRONMENT,
    input: Buffer.from(JSON.stringify({ nonce, kind: "cluster", timeoutMs: MAKE_MS }), "utf8"),
    timeoutMs: MAKE_MS,
    killGraceMs: 0,
    outputBytesMax: OUTPUT_BYTES_MAX,
    descendants: "kill",
    signal,
    pipes: [
      // What is said of it; whether it was made, its end tells.
      { fd: 3, onBytes: () => undefined },
      { fd: 4, onBytes: (bytes) => chunks.push(bytes.slice()) },
    ],
  });
  if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
  const bytes = Buffer.concat(chunks);
  return result.exitCode === 0 && bytes.length > 0 && bytes.length <= PACKED_BYTES_MAX ? bytes : null;
}
