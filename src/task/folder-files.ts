/**
 * The bytes of a task folder, read once and with limits. Links, special files, odd names and huge files are refused
 * here, so that nothing outside the folder can reach a sandbox or a hash.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FolderFile } from "../core/task-folder.ts";
import { taskInvalid } from "./problem.ts";

/** Limits of one task folder. */
const FOLDER_LIMITS = { filesMax: 5_000, fileBytesMax: 16 * 2 ** 20, bytesMax: 64 * 2 ** 20, depthMax: 32 };

/** What editors and interpreters leave behind; never part of a task. */
const IGNORED = new Set(["__pycache__", ".git", ".DS_Store"]);

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Every regular file below `folder`, sorted by path in code units. Read in one go: a task is small, and a call to the
 * kernel costs a tenth of what handing it to another thread does.
 * Throws `task_invalid` for a missing folder, a link, a special file, a name that is not plain text, or a limit.
 */
export async function readFolderFiles(folder: string): Promise<readonly FolderFile[]> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw taskInvalid({ file: folder, message: "is not a folder", remedy: "name a folder that holds a task.toml" });
  }
  const files: FolderFile[] = [];
  let bytes = 0;
  for (const path of walk(folder, "", 0)) {
    const file = readOne(folder, path);
    bytes += file.bytes.length;
    if (files.length >= FOLDER_LIMITS.filesMax || bytes > FOLDER_LIMITS.bytesMax) {
      throw taskInvalid({
        file: folder,
        message: `holds more than ${FOLDER_LIMITS.filesMax} files or ${FOLDER_LIMITS.bytesMax} bytes`,
        remedy: "make large inputs in environment/setup.sh instead",
      });
    }
    files.push(file);
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** The UTF-8 text of a file. Throws `task_invalid` naming the file when it is not text or has CRLF line ends. */
export function textOf(folder: string, file: FolderFile): string {
  const name = `${folder}/${file.path}`;
  let text: string;
  try {
    text = decoder.decode(file.bytes);
  } catch (error) {
    throw taskInvalid({ file: name, message: "is not UTF-8 text", remedy: "save it as UTF-8" }, error);
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) {
    const line = text.slice(0, nul).split("\n").length;
    throw taskInvalid({ file: name, line, message: "holds a NUL byte", remedy: "save it as plain text" });
  }
  const carriage = text.indexOf("\r\n");
  if (carriage >= 0) {
    const line = text.slice(0, carriage).split("\n").length;
    throw taskInvalid({ file: name, line, message: "ends its lines with CR LF", remedy: "save it with LF line ends" });
  }
  return text;
}

function* walk(folder: string, below: string, depth: number): Generator<string> {
  const entries = readdirSync(join(folder, below), { withFileTypes: true, encoding: "buffer" });
  for (const entry of entries) {
    const name = nameOf(folder, below, entry.name);
    if (IGNORED.has(name)) continue;
    const path = below === "" ? name : `${below}/${name}`;
    if (entry.isSymbolicLink()) {
      throw taskInvalid({
        file: `${folder}/${path}`,
        message: "is a link, and a task folder may not point elsewhere",
        remedy: "put the file itself there",
      });
    }
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && depth < FOLDER_LIMITS.depthMax) yield* walk(folder, path, depth + 1);
    else if (entry.isDirectory()) {
      throw taskInvalid({
        file: `${folder}/${path}`,
        message: `lies deeper than ${FOLDER_LIMITS.depthMax} folders`,
        remedy: "make deep trees in environment/setup.sh instead",
      });
    } else {
      throw taskInvalid({
        file: `${folder}/${path}`,
        message: "is neither a regular file nor a folder",
        remedy: "remove it",
      });
    }
  }
}

function nameOf(folder: string, below: string, raw: Uint8Array): string {
  let name: string;
  try {
    name = decoder.decode(raw);
  } catch (error) {
    throw taskInvalid(
      { file: `${folder}/${below}`, message: "holds a name that is not UTF-8", remedy: "rename that file" },
      error,
    );
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\u0000-\u001f\u007f\\]/.test(name)) {
    throw taskInvalid({
      file: `${folder}/${below}`,
      field: "file name",
      value: name,
      message: "holds a control character or a backslash",
      remedy: "rename it, and make odd names in environment/setup.sh instead",
    });
  }
  return name;
}

function readOne(folder: string, path: string): FolderFile {
  const name = `${folder}/${path}`;
  const descriptor = opened(folder, path);
  try {
    const status = fstatSync(descriptor);
    if (status.size > FOLDER_LIMITS.fileBytesMax) {
      throw taskInvalid({
        file: name,
        value: status.size,
        field: "size",
        message: `is over ${FOLDER_LIMITS.fileBytesMax} bytes`,
        remedy: "make large inputs in environment/setup.sh instead",
      });
    }
    const bytes = new Uint8Array(readFileSync(descriptor));
    return { path, bytes, isExecutable: (status.mode & 0o111) !== 0 };
  } finally {
    closeSync(descriptor);
  }
}

/** A link put there after the listing is refused by the kernel. */
function opened(folder: string, path: string): number {
  try {
    return openSync(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw taskInvalid(
      { file: `${folder}/${path}`, message: `cannot be read (${String(error)})`, remedy: "check its permissions" },
      error,
    );
  }
}
