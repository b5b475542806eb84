/**
 * Places files in a sandbox of a grading before anything else runs there: a few by the helper, which starts no program,
 * and many, or any that the helper will not write, with one command. A grading of ten thousand small artifacts must not
 * take long enough to look like a fault of ours.
 */
import { Failure } from "../core/errors.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { asset } from "./asset.ts";
import { pythonLiteral } from "./plain.ts";

/** Beyond these one command is faster than a call for each file. */
const FEW_FILES = 100;
const FEW_BYTES = 4 * 1024 * 1024;
const PLACE_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
/** The users every image has; see `ExecOptions.user`. */
const OWNERS = { root: 0, subject: 1002 } as const;

/** A file with who owns it in the sandbox. */
export interface PlacedFile extends FileContent {
  readonly owner: keyof typeof OWNERS;
  /** False for what the agent made: a name the image cannot hold then leaves the file out. */
  readonly isRequired: boolean;
}

/** Later files of the same path win. Throws `artifact_lost` for an unclean path, `verifier_crashed`, sandbox failures. */
export async function placeFiles(sandbox: Sandbox, files: readonly PlacedFile[], signal: AbortSignal): Promise<void> {
  if (files.length === 0) return;
  const unclean = files.find((file) => !isCleanPath(file.path));
  if (unclean !== undefined) {
    throw new Failure("artifact_lost", `The path ${JSON.stringify(unclean.path)} is not absolute and plain.`);
  }
  if (isFew(files) && (await writeEach(sandbox, files))) return;
  const archive = files.flatMap((file) => [headOf(file), file.bytes]);
  const result = await sandbox.exec(["/usr/bin/python3", "-I", "-S", "-E", "-B", "-c", asset("place_files.py")], {
    user: "root",
    cwd: "/",
    envVars: { LANG: "C.UTF-8" },
    input: Buffer.concat(archive),
    timeoutMs: PLACE_MS,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal,
  });
  if (result.exitCode === 0) return;
  if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
  const said = Buffer.from(result.stderr).toString("utf8").slice(-400);
  throw new Failure("verifier_crashed", `${files.length} files could not be placed (${result.verdict}): ${said}`);
}

function isFew(files: readonly PlacedFile[]): boolean {
  return files.length <= FEW_FILES && files.reduce((sum, file) => sum + file.bytes.length, 0) <= FEW_BYTES;
}

/** False when one could not be written so; the command then places all of them, in order. */
async function writeEach(sandbox: Sandbox, files: readonly PlacedFile[]): Promise<boolean> {
  const last = new Map(files.map((file) => [file.path, file]));
  const written = await Promise.all(
    [...last.values()].map(({ path, bytes, mode, owner }) =>
      sandbox.files.write({ path, bytes, mode: mode & 0o7777 }, { user: owner }),
    ),
  );
  return written.every((one) => one.ok);
}

function headOf(file: PlacedFile): Uint8Array {
  const { path, bytes, mode, owner, isRequired } = file;
  const head = [path, mode & 0o7777, OWNERS[owner], bytes.length, isRequired];
  return Buffer.from(`${pythonLiteral(head)}\n`, "ascii");
}

/** Absolute, without NUL and empty, `.` or `..` parts, so that a prefix put before it holds. */
export function isCleanPath(path: string): boolean {
  const [first, ...parts] = path.split("/");
  const isPlain = (part: string): boolean => part !== "" && part !== "." && part !== "..";
  return first === "" && parts.length > 0 && parts.every(isPlain) && !path.includes("\0");
}
