/** One test of the `sql` runner as its task writes it, `tests/TIER/NAME.sql.json`, with the texts that it names. */
import { z } from "zod";
import { Failure } from "../core/errors.ts";
import type { TestsVerifierSpec } from "../core/task.ts";

const path = z.string().min(1);
const dataset = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_.-]+$/),
  /** Below `tests/`: statements that fill the tables. */
  data: path,
  /** What the query must give; without it, what `reference` gives. */
  rows: z.array(z.array(z.unknown())).optional(),
});
const column = z.strictObject({ name: z.string(), type: z.string().optional() });
const shared = {
  engine: z.enum(["sqlite", "postgresql"]),
  /** Below `tests/`: statements that make the tables. */
  schema: path,
  /** Below `tests/`: what gives the right answer. */
  reference: path.optional(),
  timeoutMs: z.int().min(100).max(10_000).default(10_000),
  /** Two floats may differ by this share of the larger. */
  tolerance: z.number().min(0).max(0.01).default(1e-9),
};
const DATASETS_MIN = 3;

const querySchema = z.strictObject({
  ...shared,
  /** The artifact with the text; absent where it is the submitted answer. */
  query: path.optional(),
  datasets: z
    .array(dataset)
    .min(
      DATASETS_MIN,
      `has fewer than ${DATASETS_MIN} data sets; add some, such as one with ties and one without rows`,
    ),
  columns: z.array(column).min(1).optional(),
  ordered: z.boolean().default(false),
  /** Base tables that the plan must read, `any` for one at least, `none` where constants may be right. */
  reads: z.union([z.array(path).min(1), z.enum(["any", "none"])]).default("any"),
});
const migrationSchema = z.strictObject({
  ...shared,
  /** The artifacts with the migration, and with what takes it back. */
  forward: path,
  back: path.optional(),
  reference: path,
  datasets: z.array(dataset.omit({ rows: true })).min(1),
  /** Queries asked after the migration, as after the reference. */
  checks: z.array(z.string().min(1)).default([]),
});

type Query = z.infer<typeof querySchema>;
type Migration = z.infer<typeof migrationSchema>;

/** Texts in place of paths, but for those of artifacts. */
export type SqlTest =
  | ({
      readonly kind: "query";
      readonly schemaText: string;
      readonly referenceText: string | null;
      readonly dataTexts: readonly string[];
    } & Query)
  | ({
      readonly kind: "migration";
      readonly schemaText: string;
      readonly referenceText: string;
      readonly dataTexts: readonly string[];
    } & Migration);

/** The test of one entry of the manifest, such as `unit/top.sql.json`. Throws `task_invalid` naming file and field. */
export function readSqlTest(spec: TestsVerifierSpec, id: string): SqlTest {
  const written = json(text(spec, id, id), id);
  const isMigration = typeof written === "object" && written !== null && "forward" in written;
  const parsed = isMigration ? migrationSchema.safeParse(written) : querySchema.safeParse(written);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(id, `${issue?.path.join(".") || "the whole"}: ${issue?.message}`);
  }
  const one = parsed.data;
  const texts = {
    schemaText: text(spec, one.schema, id),
    dataTexts: one.datasets.map(({ data }) => text(spec, data, id)),
  };
  if ("forward" in one) return { kind: "migration", ...one, ...texts, referenceText: text(spec, one.reference, id) };
  const referenceText = one.reference === undefined ? null : text(spec, one.reference, id);
  const bare = one.datasets.find(({ rows }) => rows === undefined);
  if (referenceText === null && bare !== undefined) {
    throw invalid(id, `the data set "${bare.name}" has no rows; write them, or a reference for all`);
  }
  if (referenceText === null && one.columns === undefined)
    throw invalid(id, "columns are missing; write them, or a reference");
  return { kind: "query", ...one, ...texts, referenceText };
}

function text(spec: TestsVerifierSpec, named: string, id: string): string {
  const absolute = named.startsWith("/tests/") ? named : `/tests/${named}`;
  const found = spec.files.find((file) => file.path === absolute);
  if (found === undefined) throw invalid(id, `the file ${named} is not there; paths are told from tests/`);
  return Buffer.from(found.bytes).toString("utf8");
}

function json(written: string, id: string): unknown {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw invalid(id, `it is no JSON (${String(error)})`);
  }
}

function invalid(id: string, what: string): Failure {
  return new Failure("task_invalid", `tests/${id}: ${what}.`);
}
