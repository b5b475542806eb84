/**
 * The milestones of `task.toml`: `[[sandlot.milestones]]` with its predicates, and the cap and credit beside it. A
 * predicate names its kind by its first field: `{ http = "http://127.0.0.1:8080/health", status = 200 }`.
 */
import { z } from "zod";
import type { Json } from "../core/json.ts";
import type { Milestone, MilestoneSpec, Predicate } from "../core/milestone.ts";

const CAP = 0.2;
const CAP_MAX = 0.5;
const ITEMS_MAX = 64;
const DEPTH_MAX = 4;

const EXAMPLE = 'write one such as { file = "/app/report.csv" }';
const absolute = text(/^\/(?!.*(?:^|\/)\.\.?(?:\/|$))[^\0]+$/, "an absolute path without . and ..", "/app/data.db");

/** A text of a shape, told with an example. */
function text(shape: RegExp, meaning: string, example: string) {
  const error = `must be ${meaning}; write one such as ${JSON.stringify(example)}`;
  return z.string({ error }).regex(shape, { error });
}

function whole(least: number, most: number, example: number) {
  const error = `must be a whole number from ${least} to ${most}; write one such as ${example}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}

/** A value of TOML that JSON knows; whole numbers of TOML may be bigints. */
const plain: z.ZodType<Json> = z.lazy(() =>
  z.union(
    [
      z.null(),
      z.boolean(),
      z.number(),
      z.bigint().transform(Number),
      z.string(),
      z.array(plain),
      z.record(z.string(), plain),
    ],
    { error: "must be a text, a number, true or false, a list or a table; write what the value should equal" },
  ),
);

const pointer = text(/^(\/([^~/]|~[01])*)*$/, "a JSON pointer", "/status/ready");

/** The shape of one JSON value: where it stands and what it equals. */
const json = { pointer: pointer.optional(), equals: plain.optional() };

const bytes = () => whole(0, Number.MAX_SAFE_INTEGER, 1);

const filePredicate = z.strictObject({
  file: absolute,
  exists: z.boolean({ error: "must be true or false; write one of them" }).optional(),
  bytes_min: bytes().optional(),
  bytes_max: bytes().optional(),
  sha256: text(/^[0-9a-fA-F]{64}$/, "a SHA-256 of 64 hexadecimal digits", "e3b0c442…").optional(),
  regex: z
    .string({ error: 'must be a pattern in JavaScript syntax; write one such as "^ready"' })
    .refine(isPattern, { error: 'must be a pattern in JavaScript syntax; write one such as "^ready"' })
    .optional(),
  ...json,
});

const portPredicate = z.strictObject({ port: whole(1, 65_535, 8080) });

const processPredicate = z.strictObject({
  process: z
    .array(z.string().min(1), { error: 'must be a list of words; write one such as ["python3", "service.py"]' })
    .min(1, { error: 'must name a word at least; write one such as ["python3", "service.py"]' }),
});

const queryPredicate = z.strictObject({
  query: z
    .string({ error: 'must be one statement that reads; write one such as "SELECT count(*) FROM orders"' })
    .regex(/^\s*(select|with|pragma)\b/i, {
      error: 'must be one statement that reads; write one such as "SELECT count(*) FROM orders"',
    }),
  database: absolute,
  equals: plain,
});

const httpPredicate = z.strictObject({
  http: z
    .string({ error: 'must be a URL on loopback; write one such as "http://127.0.0.1:8080/health"' })
    .refine(isLoopback, { error: 'must be a URL on loopback; write one such as "http://127.0.0.1:8080/health"' }),
  status: whole(100, 599, 200).optional(),
  ...json,
});

const SHAPES = {
  file: filePredicate,
  port: portPredicate,
  process: processPredicate,
  query: queryPredicate,
  http: httpPredicate,
} as const;

type Kind = keyof typeof SHAPES;

const KINDS = [...Object.keys(SHAPES), "all", "any", "not"];

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, "u").source !== "";
  } catch {
    return false;
  }
}

function isLoopback(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  const isHere = hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
  return protocol === "http:" && isHere && username === "" && password === "";
}

/** Of `[[sandlot.milestones]]`. The predicate is read by `predicateOf`, whose kinds a schema cannot tell apart well. */
export const MILESTONE_SCHEMA = z.array(
  z.object(
    {
      name: text(/^[a-z0-9]+(-[a-z0-9]+)*$/, "a kebab-case name", "service-answers"),
      predicate: z.record(z.string(), z.unknown(), { error: `must be a table; ${EXAMPLE}` }),
      weight: z
        .number({ error: "must be a number above 0 and at most 1000; write one such as 1.0" })
        .gt(0, { error: "must be a number above 0 and at most 1000; write one such as 1.0" })
        .max(1_000, { error: "must be a number above 0 and at most 1000; write one such as 1.0" })
        .optional(),
      once: z.boolean({ error: "must be true or false; write one of them" }).optional(),
    },
    { error: "must be a table; write [[sandlot.milestones]] with name and predicate" },
  ),
  { error: "must be a list of tables; write [[sandlot.milestones]] with name and predicate" },
);

/** Of `sandlot.milestones_cap`. */
export const MILESTONES_CAP_SCHEMA = z
  .number({ error: "must be a number above 0 and at most 0.5; write one such as 0.2" })
  .gt(0, { error: "must be a number above 0 and at most 0.5; write one such as 0.2" })
  .max(CAP_MAX, { error: "must be a number above 0 and at most 0.5; write one such as 0.2" });

/** Of `sandlot.milestones_credit`. */
export const MILESTONES_CREDIT_SCHEMA = z.enum(["shaping", "partial"], {
  error: 'must be one of shaping, partial; write "shaping"',
});

/** What is wrong with one field, to be told with the file's name and line by who read it. */
export interface FieldProblem {
  /** From `sandlot` on. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  readonly message: string;
  readonly remedy: string;
}

/** Throws what is wrong, as an error that the reader makes of it. */
export type Refuse = (problem: FieldProblem) => Error;

/** What `task.toml` says of milestones. */
export interface DeclaredMilestones {
  readonly milestones?: z.infer<typeof MILESTONE_SCHEMA> | undefined;
  readonly milestones_cap?: number | undefined;
  readonly milestones_credit?: MilestoneSpec["credit"] | undefined;
}

/** The milestones of a task, or undefined where it has none. Throws what `refuse` makes of the first wrong field. */
export function milestonesOf(declared: DeclaredMilestones, refuse: Refuse): MilestoneSpec | undefined {
  const { milestones = [], milestones_cap: cap, milestones_credit: credit } = declared;
  if (milestones.length === 0) {
    for (const [key, value] of Object.entries({ milestones_cap: cap, milestones_credit: credit })) {
      if (value === undefined) continue;
      const message = "stands without any milestone";
      throw refuse({
        path: ["sandlot", key],
        value,
        message,
        remedy: "declare [[sandlot.milestones]], or leave it out",
      });
    }
    return undefined;
  }
  if (milestones.length > ITEMS_MAX) {
    const message = `are more than the ${ITEMS_MAX} that are looked at after each turn`;
    throw refuse({ path: ["sandlot", "milestones"], value: milestones.length, message, remedy: "declare fewer" });
  }
  const names = milestones.map(({ name }) => name);
  const items = milestones.map(({ name, predicate, weight, once }, index): Milestone => {
    const path = ["sandlot", "milestones", index];
    if (names.indexOf(name) !== index) {
      const remedy = "give each milestone a name of its own";
      throw refuse({ path: [...path, "name"], value: name, message: "stands twice", remedy });
    }
    const read = predicateOf(predicate, { path: [...path, "predicate"], depth: 1, refuse });
    return { name, predicate: read, weight: weight ?? 1, once: once ?? true };
  });
  return { items, cap: cap ?? CAP, credit: credit ?? "shaping" };
}

interface Place {
  readonly path: readonly (string | number)[];
  readonly depth: number;
  readonly refuse: Refuse;
}

function predicateOf(value: unknown, place: Place): Predicate {
  const { path, depth, refuse } = place;
  const table = value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  const kinds = Object.keys(table ?? {}).filter((key) => KINDS.includes(key));
  const [kind = ""] = kinds;
  if (table === null || kinds.length !== 1) {
    const message = `must name exactly one of ${KINDS.join(", ")}`;
    throw refuse({ path, value, message, remedy: EXAMPLE });
  }
  const own = (table as Record<string, unknown>)[kind];
  if (kind !== "all" && kind !== "any" && kind !== "not") return leafOf(kind as Kind, table, place);
  const others = Object.keys(table).filter((key) => key !== kind);
  if (others.length > 0) {
    const message = `has a field beside "${kind}"`;
    throw refuse({ path: [...path, others[0] ?? ""], value, message, remedy: "leave it out, or put it into a part" });
  }
  if (depth >= DEPTH_MAX) {
    throw refuse({ path, value, message: `is nested deeper than ${DEPTH_MAX}`, remedy: "write it flatter" });
  }
  const at = { ...place, path: [...path, kind], depth: depth + 1 };
  if (kind === "not") return { kind, of: predicateOf(own, at) };
  if (!Array.isArray(own) || own.length === 0) {
    const remedy = "write one such as { any = [{ port = 80 }, { port = 8080 }] }";
    throw refuse({ path: at.path, value: own, message: "must be a list of predicates", remedy });
  }
  return { kind, of: own.map((part, index) => predicateOf(part, { ...at, path: [...at.path, index] })) };
}

function leafOf(kind: Kind, table: object, { path, refuse }: Place): Predicate {
  const checked = SHAPES[kind].safeParse(table);
  if (!checked.success) throw refuse(problemOf(checked.error, kind, table, path));
  const read = { kind, ...checked.data } as { kind: Kind } & Record<string, unknown>;
  const json = jsonOf(read, path, refuse);
  switch (kind) {
    case "file":
      return fileOf(filePredicate.parse(table), json, path, refuse);
    case "port":
      return { kind, port: portPredicate.parse(table).port };
    case "process":
      return { kind, argv: processPredicate.parse(table).process };
    case "query": {
      const { query, database, equals } = queryPredicate.parse(table);
      return { kind, sql: query, database, equals };
    }
    case "http": {
      const { http, status } = httpPredicate.parse(table);
      return { kind, url: http, status: status ?? 200, ...json };
    }
  }
}

type JsonPart = { readonly json?: { readonly pointer: string; readonly equals: Json } };

/** The two fields of a JSON value stand together or not at all. */
function jsonOf(read: Readonly<Record<string, unknown>>, path: Place["path"], refuse: Refuse): JsonPart {
  if (read["kind"] === "query") return {};
  const { pointer: at, equals } = read;
  if (at === undefined && equals === undefined) return {};
  if (at === undefined || equals === undefined) {
    const [there, gone] = at === undefined ? ["equals", "pointer"] : ["pointer", "equals"];
    const remedy = 'write both, such as pointer = "/status" and equals = "ready"';
    throw refuse({ path: [...path, there], value: read[there], message: `stands without ${gone}`, remedy });
  }
  return { json: { pointer: at as string, equals: equals as Json } };
}

function fileOf(
  { file, exists, bytes_min, bytes_max, sha256, regex }: z.infer<typeof filePredicate>,
  json: JsonPart,
  path: Place["path"],
  refuse: Refuse,
): Predicate {
  const asked = { bytesMin: bytes_min, bytesMax: bytes_max, sha256, regex };
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  if (exists === false && Object.keys({ ...given, ...json }).length > 0) {
    const message = "is false beside a field about the content";
    throw refuse({ path: [...path, "exists"], value: exists, message, remedy: "leave one of the two out" });
  }
  if ((bytes_min ?? 0) > (bytes_max ?? Number.POSITIVE_INFINITY)) {
    const message = "is above bytes_max";
    throw refuse({ path: [...path, "bytes_min"], value: bytes_min, message, remedy: "write a smaller number" });
  }
  return { kind: "file", path: file, ...(exists === undefined ? {} : { exists }), ...given, ...json };
}

function problemOf(error: z.ZodError, kind: Kind, table: object, path: Place["path"]): FieldProblem {
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const known = Object.keys(SHAPES[kind].shape).join(", ");
    const value = (table as Record<string, unknown>)[key];
    return { path: [...path, key], value, message: `is no field of ${kind}`, remedy: `the fields are ${known}` };
  }
  const place = (issue?.path ?? []).map((part) => (typeof part === "symbol" ? String(part) : part));
  const value = place.reduce<unknown>(
    (at, part) => (at as Record<string | number, unknown> | undefined)?.[part],
    table,
  );
  const [message = "is wrong", remedy = EXAMPLE] = (issue?.message ?? "").split("; ");
  if (value !== undefined) return { path: [...path, ...place], value, message, remedy };
  return { path: [...path, ...place], value, message: "is missing", remedy };
}
