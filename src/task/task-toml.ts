/**
 * Reads a TOML text against a schema. A wrong value names its line, field and what may stand there; an unknown key of
 * ours is an error with the nearest key; an unknown key of another reader's is kept and only reported.
 */
import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { nearestName, tomlLine } from "../core/naming.ts";
import { problemText, taskInvalid } from "./problem.ts";
import { IMAGE_SCHEMA, type ImageToml, TASK_SCHEMA, type TaskToml } from "./task-schema.ts";

type Path = readonly (string | number)[];

/** Parsed TOML with its text, so that later checks can still name a line. */
export interface TomlDocument<T> {
  readonly file: string;
  readonly text: string;
  readonly value: T;
  readonly warnings: readonly string[];
}

/** Reads `task.toml`. Throws `task_invalid`. Keys outside `[sandlot]` that are unknown become warnings. */
export function parseTaskToml(text: string, file: string): TomlDocument<TaskToml> {
  return readDocument(text, file, TASK_SCHEMA, (path) => path[0] === "sandlot");
}

/** Reads `environment/image.toml`, a file of ours alone: every unknown key is an error. Throws `task_invalid`. */
export function parseImageToml(text: string, file: string): TomlDocument<ImageToml> {
  return readDocument(text, file, IMAGE_SCHEMA, () => true);
}

/** Reads any small TOML file of ours against a schema of its own, such as `expect.toml`. Throws `task_invalid`. */
export function readDocument<T extends z.ZodObject>(
  text: string,
  file: string,
  schema: T,
  isOurs: (path: Path) => boolean,
): TomlDocument<z.infer<T>> {
  const raw = parseToml(text, file);
  const warnings: string[] = [];
  for (const { path, known } of unknownKeys(schema, raw, [])) {
    const key = String(path.at(-1));
    const nearest = nearestName(key, known);
    const problem = {
      file,
      line: tomlLine(text, path),
      field: fieldName(path),
      message: "is not a known key",
      remedy: nearest === null ? `remove it, or use one of ${known.join(", ")}` : `write ${nearest}, or remove it`,
    };
    if (isOurs(path)) throw taskInvalid(problem);
    warnings.push(problemText({ ...problem, message: "is not a known key and is kept unread" }));
  }
  const result = schema.safeParse(raw);
  if (!result.success) throw schemaFailure(text, file, raw, result.error);
  return { file, text, value: result.data as z.infer<T>, warnings };
}

function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: "asNeeded", unsafeKeyBehaviour: "throw", maxDepth: 64 });
  } catch (error) {
    const line = error instanceof TomlError ? error.line : null;
    const reason = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
    throw taskInvalid(
      {
        file,
        line,
        message: `is not TOML (${reason.replace(/^Invalid TOML document: /, "")})`,
        remedy: "mend that line; strings stand in double quotes and tables in [brackets]",
      },
      error,
    );
  }
}

/** The first wrong value; the rest is seen when it is mended. */
function schemaFailure(text: string, file: string, raw: unknown, error: z.ZodError): Error {
  const issue = error.issues[0];
  const path = (issue?.path ?? []).map((part) => (typeof part === "number" ? part : String(part)));
  const sentence = issue?.message ?? "is wrong; compare it with the documentation";
  const cut = sentence.lastIndexOf("; ");
  const value = valueAt(raw, path);
  return taskInvalid(
    {
      file,
      line: tomlLine(text, path),
      field: fieldName(path),
      value: value ?? "missing",
      message: cut < 0 ? sentence : sentence.slice(0, cut),
      remedy: cut < 0 ? "compare it with the documentation" : sentence.slice(cut + 2),
    },
    error,
  );
}

/** Every key the schema does not name, with those it does, in the order of the text. */
function* unknownKeys(
  schema: unknown,
  value: unknown,
  path: Path,
): Generator<{ readonly path: Path; readonly known: readonly string[] }> {
  if (schema instanceof z.ZodOptional) return yield* unknownKeys(schema.unwrap(), value, path);
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* unknownKeys(schema.element, item, [...path, index]);
    return;
  }
  if (schema instanceof z.ZodUnion) {
    const object = schema.options.find((option) => option instanceof z.ZodObject);
    if (object) yield* unknownKeys(object, value, path);
    return;
  }
  if (!(schema instanceof z.ZodObject) || typeof value !== "object" || value === null || Array.isArray(value)) return;
  const shape: Readonly<Record<string, unknown>> = schema.shape;
  for (const [key, member] of Object.entries(value)) {
    if (Object.hasOwn(shape, key)) yield* unknownKeys(shape[key], member, [...path, key]);
    else yield { path: [...path, key], known: Object.keys(shape) };
  }
}

/** `sandlot.tiers[1].name`. */
export function fieldName(path: Path): string {
  return path.reduce<string>(
    (name, part) => (typeof part === "number" ? `${name}[${part}]` : name === "" ? part : `${name}.${part}`),
    "",
  );
}

function valueAt(raw: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[part] : undefined,
    raw,
  );
}
