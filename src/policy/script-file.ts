/**
 * A script that a person wrote to act in place of a model: what it does in any task, in the same order each time. A
 * JSON file holds commands, files and an answer; any other file is one shell command, whole.
 */
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { Failure } from "../core/errors.ts";
import type { Script } from "../core/task.ts";

const BYTES_MAX = 1024 * 1024;

const schema = z.strictObject({
  /** Shell commands run in order, one a turn. */
  commands: z.array(z.string()).default([]),
  /** The text given to `submit`; absent where the state is the answer. */
  answer: z.string().nullable().default(null),
  /** Placed in the agent's sandbox first. */
  files: z
    .array(z.strictObject({ path: z.string().startsWith("/"), text: z.string(), mode: z.int().default(0o644) }))
    .default([]),
});

/** Throws `config_invalid` naming the file and what is wrong in it. */
export async function readScriptFile(path: string): Promise<Script> {
  const text = await readText(path);
  const name = basename(path);
  if (!path.endsWith(".json")) return { name, answer: null, files: [], commands: [text] };
  const parsed = schema.safeParse(parseJson(path, text));
  if (!parsed.success) throw invalid(path, z.prettifyError(parsed.error));
  const { commands, answer, files } = parsed.data;
  const placed = files.map((file) => ({ path: file.path, bytes: Buffer.from(file.text), mode: file.mode }));
  return { name, answer, files: placed, commands };
}

async function readText(path: string): Promise<string> {
  if (path === "")
    throw new Failure("config_invalid", "--policy script: names no file; write it after the colon, as in script:FILE.");
  const unreadable = (error: NodeJS.ErrnoException): never => {
    throw invalid(path, error.code === "ENOENT" ? "there is no such file" : error.message);
  };
  const found = await stat(path).catch(unreadable);
  // A pipe that nobody writes would be waited for without an end, and a device has none.
  if (!found.isFile()) throw invalid(path, "it is no regular file");
  if (found.size > BYTES_MAX) throw invalid(path, `it has ${found.size} bytes, more than ${BYTES_MAX}`);
  return (await readFile(path).catch(unreadable)).toString();
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(path, error instanceof Error ? error.message : String(error));
  }
}

function invalid(path: string, problem: string): Failure {
  return new Failure("config_invalid", `The script ${path} cannot be used: ${problem}.`);
}
