/**
 * Image recipes: small TOML files under `images/` that name a suite, packages, files and commands. A wrong value is told
 * with file, line, key and remedy.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { Failure } from "../../core/errors.ts";
import { nearestName, tomlLine } from "../../core/naming.ts";
import { parseLock } from "./package-lock.ts";
import { type DebianPlan, PACKAGE } from "./source-debian.ts";

const text = (example: string) => z.string({ error: `must be a text; write one such as "${example}"` });

const SCHEMA = z.object({
  description: text("What it is for.").optional(),
  suite: text("bookworm").regex(/^[a-z][a-z0-9-]{1,30}$/, {
    error: 'must be the name of a Debian suite; write one such as "bookworm"',
  }),
  date: text("20260131")
    .regex(/^\d{8}(T\d{6}Z)?$/, { error: 'must be a day of the snapshot mirror; write one such as "20260131"' })
    .optional(),
  components: z.array(text("main"), { error: 'must be a list of texts; write one such as ["main"]' }).optional(),
  packages: z
    .array(text("python3").regex(PACKAGE, { error: 'must be a Debian package name; write one such as "python3"' }), {
      error: 'must be a list of package names; write one such as ["python3", "git"]',
    })
    .optional(),
  run: z
    .array(text("ldconfig"), { error: 'must be a list of shell commands; write one such as ["ldconfig"]' })
    .optional(),
  env: z.record(z.string(), text("value"), { error: "must be a table of texts; write [env]" }).optional(),
  workdir: text("/app").regex(/^\//, { error: 'must be an absolute path; write one such as "/app"' }).optional(),
  lock: text("ops.lock").optional(),
  files: z
    .array(
      z.object({
        source: text("files/app.conf"),
        target: text("/etc/app.conf").regex(/^\/(?!.*(^|\/)\.\.(\/|$))/, {
          error: 'must be an absolute path without ".."; write one such as "/etc/app.conf"',
        }),
        mode: text("0644")
          .regex(/^0?[0-7]{3}$/, { error: 'must be permission bits in octal; write one such as "0644"' })
          .optional(),
      }),
      { error: "must be a list of tables with source and target; write [[files]]" },
    )
    .optional(),
});

type Recipe = z.infer<typeof SCHEMA>;

/** Where recipes are looked for: `images` of the working folder, then those that come with Sandlot. */
export function recipeFolders(): readonly string[] {
  return [join(process.cwd(), "images"), shippedRecipes()];
}

export interface RecipeSummary {
  readonly name: string;
  readonly description: string;
  readonly file: string;
}

/** Every recipe that can be named; one that cannot be read says so in its description. */
export function recipeSummaries(folders = recipeFolders()): readonly RecipeSummary[] {
  const names = [...new Set(folders.flatMap(recipeNames))].sort();
  return names.map((name) => {
    const file = recipeFile(name, folders);
    try {
      return { name, description: parseRecipe(recipeText(file), file).description ?? "", file };
    } catch (error) {
      return { name, description: error instanceof Error ? error.message : String(error), file };
    }
  });
}

/** The folder of recipes that comes with Sandlot: the first `images/` upwards from this file that holds one. */
function shippedRecipes(): string {
  for (let folder = import.meta.dirname; dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, "images", "base.toml"))) return join(folder, "images");
  return join(import.meta.dirname, "images");
}

/** File of a recipe: a path that ends in `.toml`, else NAME.toml of the folders, first found. Throws `image_unavailable`. */
export function recipeFile(name: string, folders: readonly string[]): string {
  if (name.endsWith(".toml")) {
    if (existsSync(name)) return resolve(name);
    throw new Failure("image_unavailable", `There is no image recipe ${name}; check the path.`);
  }
  const found = folders.map((folder) => join(folder, `${name}.toml`)).find((path) => existsSync(path));
  if (/^[a-z0-9][a-z0-9-]*$/.test(name) && found !== undefined) return found;
  const known = [...new Set(folders.flatMap(recipeNames))].sort();
  const nearest = nearestName(name, known);
  throw new Failure(
    "image_unavailable",
    `There is no image recipe "${name}"${nearest === null ? "." : `; did you mean recipe:${nearest}?`} Known: ${known.map((each) => `recipe:${each}`).join(", ")}.`,
  );
}

function recipeNames(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(".toml") ? [name.slice(0, -".toml".length)] : []));
}

function recipeText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure("image_unavailable", `${file} is no recipe that can be read (${code}); put a TOML file there.`, {
      cause: error,
    });
  }
}

/** Reads a recipe file into a plan. Throws `image_unavailable` with file, line, key and remedy. */
export function readRecipe(file: string, reference: string): DebianPlan {
  const content = recipeText(file);
  const recipe = parseRecipe(content, file);
  const files = (recipe.files ?? []).map(({ source, target, mode }, index) => {
    const path = resolve(dirname(file), source);
    if (!existsSync(path) || !statSync(path).isFile())
      throw wrong(
        file,
        content,
        ["files", index, "source"],
        `"${source}" is no file beside the recipe; put it there, or mend the path`,
      );
    return { source: path, target, mode: mode ?? "0644" };
  });
  const run = (recipe.run ?? []).map((command, index) => ({
    command,
    place: `${file}:${elementLine(content, "run", command)}: run[${index}]`,
  }));
  const hash = createHash("sha256").update(content);
  for (const { source } of files) hash.update("\0").update(readFileSync(source));
  return {
    reference,
    suite: recipe.suite,
    date: recipe.date ?? null,
    components: recipe.components ?? ["main"],
    packages: recipe.packages ?? [],
    files,
    run,
    placeOf: (name) => {
      const index = (recipe.packages ?? []).findIndex((each) => each.split(/[:=]/)[0] === name);
      return index < 0
        ? null
        : `${file}:${elementLine(content, "packages", recipe.packages?.[index] ?? "")}: packages[${index}]`;
    },
    envVars: recipe.env ?? {},
    workdir: recipe.workdir ?? null,
    lock: recipe.lock === undefined ? null : lockOf(file, content, recipe.lock),
    inputs: hash.digest("hex"),
  };
}

function lockOf(file: string, content: string, name: string): DebianPlan["lock"] {
  const path = resolve(dirname(file), name);
  if (!existsSync(path))
    throw wrong(file, content, ["lock"], `"${name}" is no file beside the recipe; mend the name, or remove it`);
  return parseLock(readFileSync(path, "utf8"), path);
}

function parseRecipe(content: string, file: string): Recipe {
  const raw = parseToml(content, file);
  const known = Object.keys(SCHEMA.shape);
  for (const key of Object.keys(raw)) if (!known.includes(key)) throw unknown(file, content, [key], known);
  const knownOfFile = ["source", "target", "mode"];
  for (const [index, entry] of (Array.isArray(raw["files"]) ? raw["files"] : []).entries())
    for (const key of Object.keys(entry as object))
      if (!knownOfFile.includes(key)) throw unknown(file, content, ["files", index, key], knownOfFile);
  const result = SCHEMA.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = (issue?.path ?? []).map((part) => (typeof part === "number" ? part : String(part)));
  throw wrong(file, content, path, issue?.message ?? "is wrong");
}

function parseToml(content: string, file: string): Record<string, unknown> {
  try {
    return parse(content);
  } catch (error) {
    const line = error instanceof TomlError ? `:${error.line}` : "";
    const reason = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
    throw new Failure(
      "image_unavailable",
      `${file}${line}: is not TOML (${reason.replace(/^Invalid TOML document: /, "")}); mend that line.`,
      { cause: error },
    );
  }
}

function unknown(file: string, content: string, path: readonly (string | number)[], known: readonly string[]): Failure {
  const nearest = nearestName(String(path.at(-1)), known);
  return wrong(
    file,
    content,
    path,
    `is not a known key; ${nearest === null ? `use one of ${known.join(", ")}` : `write ${nearest}`}, or remove it`,
  );
}

function wrong(file: string, content: string, path: readonly (string | number)[], message: string): Failure {
  const line = tomlLine(content, path);
  const key = path.reduce<string>(
    (name, part) => (typeof part === "number" ? `${name}[${part}]` : name === "" ? part : `${name}.${part}`),
    "",
  );
  return new Failure("image_unavailable", `${file}${line === null ? "" : `:${line}`}: ${key} ${message}.`);
}

/** Line on which an element of a list of texts stands, where it is written plainly; else the list's own line. */
function elementLine(content: string, key: string, element: string): number {
  const first = tomlLine(content, [key]) ?? 1;
  const lines = content.split("\n");
  const forms = [JSON.stringify(element), `'${element}'`];
  const found = lines.findIndex((line, index) => index >= first - 1 && forms.some((form) => line.includes(form)));
  return found < 0 ? first : found + 1;
}
