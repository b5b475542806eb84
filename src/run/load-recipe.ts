/**
 * Reads a recipe: file, then environment, then `--set`, each checked against the schema, with the origin of every
 * value kept. Any mistake names the file, the line, the key, the value and the nearest key that exists.
 */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { Failure } from "../core/errors.ts";
import { nearestName, tomlLine } from "../core/naming.ts";
import { type Recipe, recipeSchema } from "./recipe.ts";

export interface LoadedRecipe {
  readonly recipe: Recipe;
  /** Dotted key to where its value came from: `first-light.toml:14`, `--set`, `SANDLOT_RL_STEPS`, `default`. */
  readonly origins: ReadonlyMap<string, string>;
  /** Folder relative paths of the recipe start from. */
  readonly folder: string;
}

type Tree = { [key: string]: unknown };

/** `overrides` are `a.b=value` texts from the command line. Throws `config_invalid`. */
export async function loadRecipe(
  file: string,
  overrides: readonly string[],
  envVars: Readonly<Record<string, string | undefined>>,
): Promise<LoadedRecipe> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new Failure(
      "config_invalid",
      `Cannot read the recipe ${file}. Name a TOML file, such as recipes/first-light.toml.`,
      {
        cause,
      },
    );
  }
  return parseRecipe(text, file, overrides, envVars);
}

export function parseRecipe(
  text: string,
  file: string,
  overrides: readonly string[],
  envVars: Readonly<Record<string, string | undefined>>,
): LoadedRecipe {
  const tree = parseToml(text, file);
  const origins = new Map<string, string>();
  for (const key of leafKeys(tree)) origins.set(key, `${file}:${tomlLine(text, key.split(".")) ?? "?"}`);
  for (const key of leafKeys(recipeSchema.parse({}))) {
    const name = `SANDLOT_${key
      .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
      .replaceAll(".", "_")
      .toUpperCase()}`;
    const value = envVars[name];
    if (value !== undefined && value !== "") assign(tree, origins, key, parseValue(value), name);
  }
  for (const override of overrides) {
    const split = override.indexOf("=");
    if (split < 1) {
      throw new Failure(
        "config_invalid",
        `--set ${override} has no value; write --set key=value, such as --set rl.steps=10.`,
      );
    }
    assign(tree, origins, override.slice(0, split), parseValue(override.slice(split + 1)), "--set");
  }
  const checked = recipeSchema.safeParse(tree);
  if (!checked.success) {
    const issues = checked.error.issues.map((issue) => describeIssue(issue, tree, origins, text, file));
    throw new Failure("config_invalid", issues.join("\n"));
  }
  for (const key of leafKeys(checked.data)) if (!origins.has(key)) origins.set(key, "default");
  return { recipe: checked.data, origins, folder: dirname(resolve(file)) };
}

/** Each value with its origin, one line each, in the order of the schema. */
export function printRecipe(loaded: LoadedRecipe): string {
  const rows = leafKeys(loaded.recipe).map((key) => {
    const value = key.split(".").reduce<unknown>((tree, part) => (tree as Tree)[part], loaded.recipe);
    return [`${key} = ${JSON.stringify(value)}`, loaded.origins.get(key) ?? "default"] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, origin]) => `${left.padEnd(width)}  # ${origin}`).join("\n");
}

function parseToml(text: string, file: string): Tree {
  try {
    return parse(text) as Tree;
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const reason = cause.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    throw new Failure("config_invalid", `${file}:${cause.line}: not valid TOML (${reason}).`, { cause });
  }
}

function leafKeys(tree: unknown, prefix = ""): string[] {
  return Object.entries(tree as Tree).flatMap(([key, value]) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? leafKeys(value, `${prefix}${key}.`)
      : [`${prefix}${key}`],
  );
}

function parseValue(text: string): unknown {
  try {
    return parse(`value = ${text}`)["value"];
  } catch {
    return text;
  }
}

function assign(tree: Tree, origins: Map<string, string>, key: string, value: unknown, origin: string): void {
  const parts = key.split(".");
  let folder = tree;
  for (const part of parts.slice(0, -1)) {
    const next = Object.hasOwn(folder, part) ? folder[part] : undefined;
    const child: Tree = typeof next === "object" && next !== null ? (next as Tree) : {};
    Object.defineProperty(folder, part, { value: child, enumerable: true, configurable: true, writable: true });
    folder = child;
  }
  const last = parts.at(-1) ?? key;
  Object.defineProperty(folder, last, { value, enumerable: true, configurable: true, writable: true });
  origins.set(key, origin);
}

function describeIssue(
  issue: z.core.$ZodIssue,
  tree: Tree,
  origins: ReadonlyMap<string, string>,
  text: string,
  file: string,
): string {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .map((key) => {
        const full = [...path, key].join(".");
        const known = Object.keys(
          path.reduce<unknown>((node, part) => (node as Tree)[part], recipeSchema.parse({})) as Tree,
        );
        const nearest = nearestName(key, known);
        const hint = nearest === null ? `Known keys: ${known.join(", ")}.` : `Did you mean "${nearest}"?`;
        return `${place(full, origins, text, file)}: unknown key "${full}". ${hint}`;
      })
      .join("\n");
  }
  const key = path.join(".");
  const value = path.reduce<unknown>((node, part) => (node as Tree | undefined)?.[part], tree);
  return `${place(key, origins, text, file)}: "${key}" is ${JSON.stringify(value)}: ${issue.message}.`;
}

/** Where a key was given: its own origin, else its line in the file, else that of the first key below it. */
function place(key: string, origins: ReadonlyMap<string, string>, text: string, file: string): string {
  const own = origins.get(key);
  if (own !== undefined) return own;
  const line = tomlLine(text, key.split("."));
  if (line !== null) return `${file}:${line}`;
  return [...origins].find(([name]) => name.startsWith(`${key}.`))?.[1] ?? file;
}
