/**
 * The form of a probe file, `integration/NAME.http.json`: requests to a service of the product and what must come back,
 * then questions to the database file it kept. Values that follow from the grading seed are written into it here:
 * `{{int NAME MIN MAX}}` and `{{word NAME}}`; equal names in one file stand for equal values, and a text that is nothing
 * but an `int` becomes a number.
 */
import { z } from "zod";
import { Failure } from "../core/errors.ts";
import { deriveSeed, randomFrom } from "../core/random.ts";

const WORD_LETTERS = 8;
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

function problem(message: string, remedy: string) {
  return { error: `${message}; ${remedy}` };
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** The part of JSON Schema that is served; any other keyword is refused. */
export interface HttpSchema {
  readonly type?: SchemaType | readonly SchemaType[] | undefined;
  readonly properties?: Readonly<Record<string, HttpSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | undefined;
  readonly items?: HttpSchema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly enum?: readonly (string | number | boolean | null)[] | undefined;
  readonly const?: string | number | boolean | null | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
}

const SCHEMA_TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
export type SchemaType = (typeof SCHEMA_TYPES)[number];

const schemaType = z.enum(SCHEMA_TYPES, problem("is no JSON type", `write one of ${SCHEMA_TYPES.join(", ")}`));
const count = z.int().min(0);
const schema: z.ZodType<HttpSchema> = z.lazy(() =>
  z.strictObject({
    type: z.union([schemaType, z.array(schemaType).min(1)]).optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.boolean().optional(),
    items: schema.optional(),
    minItems: count.optional(),
    maxItems: count.optional(),
    enum: z.array(scalar).min(1).optional(),
    const: scalar.optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: count.optional(),
    maxLength: count.optional(),
  }),
);

const pointer = z
  .string()
  .regex(/^(?:\/.*)?$/s, problem("is no JSON pointer", 'write "" for the whole, or one such as "/items/0/id"'));
/** `equals` exactly, or numbers anywhere in it within `tolerance`; `schema`; `absent`: nothing is there. */
const jsonRule = z.union(
  [
    z.strictObject({ pointer, equals: z.json(), tolerance: z.number().min(0).optional() }),
    z.strictObject({ pointer, schema }),
    z.strictObject({ pointer, absent: z.literal(true) }),
  ],
  problem(
    "is no rule",
    'write {"pointer": "/id", "equals": 1}, {"pointer": "", "schema": {…}} or {"pointer": "/x", "absent": true}',
  ),
);

const status = z.int().min(100).max(599);
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, problem("is no header name", "write one such as content-type"));
const headerText = z.string().regex(/^[\t -~]{0,4096}$/, problem("is no header value", "write printable ASCII"));

const request = z.strictObject({
  method: z
    .enum(
      ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
      problem("is no method", 'write one such as "GET"'),
    )
    .default("GET"),
  path: z.string().regex(/^\/[!-~]*$/, problem("is no path", 'write one such as "/items?limit=3", with spaces as %20')),
  headers: z.record(headerName, headerText).default({}),
  /** At most one of the two; `json` also sends its content type. */
  body: z.string().optional(),
  json: z.json().optional(),
  timeout_ms: z.int(problem("is no time", "write 100 to 60000 milliseconds")).min(100).max(60_000).default(5_000),
});

const expected = z.strictObject({
  status: z.union([status, z.array(status).min(1)], problem("is no status", "write one such as 200, or a list")),
  /** Each must be there; the text exactly, or a part of it. Names in any case. */
  headers: z.record(headerName, z.union([headerText, z.strictObject({ contains: headerText })])).default({}),
  body: z.string().optional(),
  json: z.array(jsonRule).default([]),
});

const name = z
  .string(problem("is missing", "give each probe a name"))
  .regex(/^[A-Za-z0-9_.-]{1,80}$/, problem("is no name", "write letters, digits, _, . and -"));

const requestProbe = z.strictObject({
  name,
  /** Ends and starts all services first: what lived in memory alone is gone. */
  restart: z.boolean().default(false),
  request,
  expect: expected,
});

const queryProbe = z.strictObject({
  name,
  query: z.strictObject({
    /** A SQLite file the service keeps; taken out as data once nothing runs any more. */
    database: z.string().regex(/^(?:\/[^/\0]+)+$/, problem("is no absolute path", 'write one such as "/app/data.db"')),
    sql: z.string().min(1),
    tables: z.array(z.string()).default([]),
    timeout_ms: z.int().min(100).max(60_000).default(10_000),
  }),
  expect: z.strictObject({
    /** In the cells of `.sql.json` files. */
    rows: z.array(z.array(z.json())),
    ordered: z.boolean().default(false),
    tolerance: z.number().min(0).max(1).default(0),
  }),
});

const probeFile = z.strictObject({
  /** Default: the first service of the task. */
  service: z.string().optional(),
  probes: z
    .array(z.union([requestProbe, queryProbe]), problem("is no list of probes", "write at least one"))
    .min(1, problem("is empty", "write at least one probe")),
});

export type HttpRequestProbe = z.infer<typeof requestProbe>;
export type HttpQueryProbe = z.infer<typeof queryProbe>;
export type HttpExpected = z.infer<typeof expected>;
export type HttpRequest = z.infer<typeof request>;
export type HttpProbeFile = z.infer<typeof probeFile>;

/** A probe file with what its values are drawn from. */
export interface HttpSource {
  /** Below `tests/`. */
  readonly path: string;
  readonly text: string;
  readonly taskKey: string;
  readonly gradingSeed: bigint;
}

/** Pure. Throws `task_invalid` with file, field, value and remedy. */
export function readProbeFile(source: HttpSource): HttpProbeFile {
  let written: unknown;
  try {
    written = JSON.parse(source.text);
  } catch (error) {
    throw invalid(source, "", `is no JSON (${String(error)}); correct it`, error);
  }
  const seeded = filledIn(written, source);
  const parsed = probeFile.safeParse(seeded);
  if (!parsed.success) throw firstProblem(source, seeded, parsed.error);
  const { probes } = parsed.data;
  for (const [index, probe] of probes.entries()) {
    if (probes.findIndex((other) => other.name === probe.name) !== index) {
      throw invalid(source, `probes.${index}.name`, `"${probe.name}" stands twice; give each probe its own name`);
    }
    if ("request" in probe && probe.request.body !== undefined && probe.request.json !== undefined) {
      throw invalid(source, `probes.${index}.request`, "has both body and json; leave one of them out");
    }
  }
  return parsed.data;
}

/** The innermost problem of the branch that was meant: what has a query is a query. */
function firstProblem(source: HttpSource, value: unknown, error: z.ZodError): Failure {
  let [issue] = error.issues;
  const path: PropertyKey[] = [];
  for (;;) {
    path.push(...(issue?.path ?? []));
    if (issue?.code !== "invalid_union" || issue.path[0] !== "probes") break;
    const isQuery = typeof at(value, path) === "object" && Object.hasOwn(at(value, path) as object, "query");
    const branch: z.core.$ZodIssue | undefined = issue.errors[isQuery ? 1 : 0]?.[0];
    if (branch === undefined) break;
    issue = branch;
  }
  const found = at(value, path);
  const shown = found === undefined ? "" : `${JSON.stringify(found).slice(0, 80)} `;
  const said = issue?.message ?? "has a wrong form";
  const remedy = said.includes(";") ? said : `is refused (${said}); correct it`;
  return invalid(source, path.join("."), `${shown}${remedy}`, error);
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (found, key) =>
      typeof found === "object" && found !== null ? (found as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** Every text of the file with its placeholders replaced, keys too. */
function filledIn(value: unknown, source: HttpSource): unknown {
  if (typeof value === "string") return filledText(value, source);
  if (Array.isArray(value)) return value.map((item) => filledIn(item, source));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [String(filledText(key, source)), filledIn(member, source)]),
  );
}

function filledText(text: string, source: HttpSource): string | number {
  const whole = /^\{\{(int [^{}]*)\}\}$/.exec(text)?.[1];
  if (whole !== undefined) return Number(seeded(whole, source));
  return text.replaceAll(PLACEHOLDER, (_all, inner: string) => seeded(inner, source));
}

function seeded(inner: string, source: HttpSource): string {
  const [kind, label, ...bounds] = inner.trim().split(/\s+/);
  const [min, max] = bounds.map(Number);
  const random = randomFrom(deriveSeed(source.gradingSeed, "http", source.path, label ?? ""));
  if (kind === "word" && label !== undefined && bounds.length === 0) {
    return Array.from({ length: WORD_LETTERS }, () => random.pick([..."abcdefghijklmnopqrstuvwxyz"])).join("");
  }
  const isRange = bounds.length === 2 && Number.isSafeInteger(min) && Number.isSafeInteger(max);
  if (kind === "int" && isRange && min !== undefined && max !== undefined && min <= max) {
    return String(random.integer(min, max));
  }
  throw invalid(source, "", `holds {{${inner}}}; write {{int NAME MIN MAX}} or {{word NAME}}`);
}

export function invalid(
  { path, taskKey }: Pick<HttpSource, "path" | "taskKey">,
  field: string,
  what: string,
  cause?: unknown,
): Failure {
  const where = field === "" ? "" : `, ${field}:`;
  return new Failure("task_invalid", `tests/${path} of ${taskKey}${where} ${what}.`, { cause });
}
