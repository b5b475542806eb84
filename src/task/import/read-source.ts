/** How importers read their sources: small text files and JSON lines, with the line of what is wrong. */
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { taskInvalid } from "../problem.ts";

const FILE_BYTES_MAX = 256 * 2 ** 20;
const ROW_CHARACTERS_MAX = 4 * 2 ** 20;

/** The text of a file, or null where there is none. Links are not followed. Throws `task_invalid` for one too large. */
export function textIfThere(path: string): string | null {
  const status = statusOf(path);
  if (status === null || !status.isFile()) return null;
  if (status.size > FILE_BYTES_MAX) {
    throw taskInvalid({
      file: path,
      message: `is over ${FILE_BYTES_MAX} bytes`,
      remedy: "split it and import the parts",
    });
  }
  return readFileSync(path, "utf8").replaceAll("\r\n", "\n");
}

function statusOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    // A part of the path is a file.
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return null;
    throw error;
  }
}

/** The text of a file. Throws `task_invalid` where there is none. */
export function requiredText(path: string, what: string): string {
  const text = textIfThere(path);
  if (text !== null) return text;
  throw taskInvalid({ file: path, message: "is missing", remedy: `name ${what}` });
}

/** Names in a folder, sorted; empty where there is no folder. */
export function namesIn(path: string): readonly string[] {
  if (!isFolder(path)) return [];
  return readdirSync(path).sort();
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Regular files below a folder with their bytes, by path; links and what matches `leaveOut` are left out. */
export function filesBelow(
  folder: string,
  leaveOut: (path: string) => boolean = () => false,
  below = "",
): Readonly<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const name of namesIn(join(folder, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    const status = lstatSync(join(folder, path));
    if (leaveOut(path)) continue;
    if (status.isDirectory()) Object.assign(files, filesBelow(folder, leaveOut, path));
    else if (status.isFile()) files[path] = new Uint8Array(readFileSync(join(folder, path)));
  }
  return files;
}

export interface JsonRow {
  /** From 1. */
  readonly line: number;
  /** Null where the line is no JSON object. */
  readonly value: Readonly<Record<string, unknown>> | null;
}

/** The rows of a JSON lines file; empty lines are left out. */
export function jsonRows(path: string): readonly JsonRow[] {
  return requiredText(path, "a file of JSON lines")
    .split("\n")
    .map((text, index) => ({ line: index + 1, text }))
    .filter(({ text }) => text.trim() !== "")
    .map(({ line, text }) => ({ line, value: text.length > ROW_CHARACTERS_MAX ? null : objectOf(text) }));
}

function objectOf(text: string): JsonRow["value"] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRow["value"]) : null;
  } catch {
    return null;
  }
}

/** The text of a field, or null where it is none. */
export function textField(row: Readonly<Record<string, unknown>>, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = row[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return null;
}
