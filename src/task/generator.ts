/** Loads a task generator from its folder and makes sure that it is one before anything relies on it. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { nearestName } from "../core/naming.ts";
import type { TaskGenerator } from "../core/task.ts";
import type { FolderGenerator } from "../core/task-folder.ts";
import { folderTaskGenerator } from "./folder-generator.ts";
import { taskInvalid } from "./problem.ts";

/** Where a generator may stand: as written, or as built for the published package. */
export const GENERATOR_FILES = ["generator.ts", "generator.js"] as const;

const isFunction = (value: unknown) => typeof value === "function";
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** What both kinds of generator have; each message ends a sentence that begins with the field. */
const COMMON = z.object({
  name: z
    .string({ error: "must be a text; write the kebab-case name of the family" })
    .regex(NAME, { error: "must be in kebab-case; write one such as first-light" }),
  version: z
    .int({ error: "must be a whole number from 1; raise it when a seed yields another task" })
    .min(1, { error: "must be a whole number from 1; raise it when a seed yields another task" }),
  dials: z.record(
    z.string(),
    z
      .object({ min: z.number(), max: z.number(), step: z.number().gt(0), meaning: z.string().min(1) })
      .refine(({ min, max }) => min <= max, { error: "has min above max; swap them" }),
    { error: "must be a table of { min, max, step, meaning }; write {} when there is none" },
  ),
});

/** A generator that gives tasks at once. */
const CONTRACT = COMMON.extend({
  splits: z
    .array(z.string().regex(NAME, { error: "must be in kebab-case; write one such as held-out" }), {
      error: 'must be a list of names; write ["train", "held-out"]',
    })
    .min(1, { error: 'must name at least one split; write ["train"]' })
    .refine((names) => new Set(names).size === names.length, { error: "names a split twice; name each once" }),
  generate: z.custom(isFunction, { error: "must be a function; write generate({ split, index, seed, dials })" }),
  demonstrations: z.custom((value) => value === null || isFunction(value), {
    error: "must be a function or null; write null when the family has none",
  }),
  alphabet: z.union([z.null(), z.object({ characters: z.string().min(1), keywords: z.array(z.string()) })], {
    error: "must be { characters, keywords } or null; write null when the family declares none",
  }),
});

/** A generator that draws folders, which the platform reads. */
const FOLDER_CONTRACT = COMMON.extend({
  family: z
    .string({ error: "must be a text; write the kebab-case name of the family" })
    .regex(NAME, { error: "must be in kebab-case; write one such as sql-query" }),
  draw: z.custom(isFunction, { error: "must be a function; write draw({ seed, dials, random })" }),
});

/**
 * The generator of a folder: the export `generator` of its `generator.ts` (or, when built, `generator.js`).
 * Throws `task_invalid` naming file, field and remedy when there is none or it breaks the contract.
 */
export async function loadGenerator(folder: string): Promise<TaskGenerator> {
  const file = await generatorFile(folder);
  if (file === null) {
    throw taskInvalid({
      file: join(folder, GENERATOR_FILES[0]),
      message: "is missing",
      remedy: "add it with export const generator: FolderGenerator, or name another folder",
    });
  }
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  } catch (error) {
    throw taskInvalid(
      {
        file,
        message: `cannot be loaded (${error instanceof Error ? error.message : String(error)})`,
        remedy: "run node on the file to see where it fails",
      },
      error,
    );
  }
  const exported = module["generator"];
  if (exported === undefined) {
    const nearest = nearestName("generator", Object.keys(module));
    throw taskInvalid({
      file,
      field: "generator",
      message: "is not exported",
      remedy:
        nearest === null
          ? "write export const generator: FolderGenerator"
          : `rename the export ${nearest} to generator`,
    });
  }
  return checkedGenerator(file, exported);
}

async function generatorFile(folder: string): Promise<string | null> {
  for (const name of GENERATOR_FILES) {
    const status = await stat(join(folder, name)).catch(() => null);
    if (status?.isFile()) return join(folder, name);
  }
  return null;
}

function checkedGenerator(file: string, exported: unknown): TaskGenerator {
  const isFolders = typeof exported === "object" && exported !== null && "draw" in exported;
  const result = (isFolders ? FOLDER_CONTRACT : CONTRACT).safeParse(exported);
  // The object itself is handed on: the schema's copy would lose what its methods close over.
  if (result.success) return isFolders ? folderTaskGenerator(exported as FolderGenerator) : (exported as TaskGenerator);
  const issue = result.error.issues[0];
  const [message = "breaks the contract", remedy = "compare it with FolderGenerator in src/core/task-folder.ts"] = (
    issue?.message ?? ""
  ).split("; ");
  throw taskInvalid({ file, field: ["generator", ...(issue?.path ?? [])].join("."), message, remedy }, result.error);
}
