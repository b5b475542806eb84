/**
 * The platform's end of `python/sql_driver.py`: runs SQL text against fresh databases in a sandbox and takes back plain
 * rows. What the text does (hang, flood, exhaust memory) is a value; a lost sandbox is a thrown Failure.
 */
import { z } from "zod";
import { Failure, toFailure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { asset } from "./asset.ts";
import { PYTHON } from "./driver-program.ts";

/** Engines that a query can be written for. */
export type SqlEngineName = "sqlite" | "postgresql";

/** A database to make, or a file in the sandbox to read. */
export type SqlDataset =
  | { readonly name: string; readonly schema: string; readonly data: string }
  /** A plain-SQL dump of PostgreSQL that an agent left, and base tables it must make. */
  | { readonly name: string; readonly dump: string; readonly tables: readonly string[] }
  | {
      readonly name: string;
      /** Absolute in the sandbox. */
      readonly file: string;
      /** Whether a write-ahead log or a journal lies beside it. */
      readonly hasLog: boolean;
      /** Base tables it must have. */
      readonly tables: readonly string[];
    };

/** One text to run on one data set. */
export interface SqlRequest {
  readonly engine: SqlEngineName;
  readonly kind: "query" | "migration";
  readonly sql: string;
  /** Text that takes a migration back; null without one. */
  readonly back: string | null;
  /** Queries asked after a migration. */
  readonly checks: readonly string[];
  /** Of one statement, or one migration. */
  readonly timeoutMs: number;
  readonly datasets: readonly SqlDataset[];
  /** Absolute in the sandbox: a cluster made before, in place of a new one. Default none. */
  readonly cluster?: string;
}

const table = z.strictObject({
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.string().nullable())),
  reads: z.array(z.string()),
});
const snapshot = z.strictObject({
  objects: z.record(z.string(), z.array(z.string())),
  data: z.record(z.string(), z.string()),
});
const reply = z.union([
  z.strictObject({ refused: z.string() }),
  table,
  z.strictObject({ before: snapshot, after: snapshot, checks: z.array(table), back: snapshot.optional() }),
]);

/** Rows with the base tables that the plan reads. */
export type SqlRows = z.infer<typeof table>;
/** A schema and its rows, as the engine tells them. */
export type SqlSnapshot = z.infer<typeof snapshot>;
/** Of one data set. Untrusted: compare it, never evaluate it. */
export type SqlReply = z.infer<typeof reply>;

/** Where it is run. */
export interface SqlPlace {
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

/** What came of it. */
export type SqlAnswers =
  /** One for each data set, in their order. */
  | { readonly kind: "replies"; readonly replies: readonly SqlReply[] }
  /** The text ended the driver, or its sandbox. */
  | { readonly kind: "died"; readonly detail: string; readonly isTimeout: boolean };

/** Of every driver; nothing of the host's or of the task's. */
export const SQL_ENVIRONMENT = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", HOME: "/nonexistent" } as const;

const START_MS = 60_000;
const REPLY_BYTES_MAX = 64 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** The driver with the part of its engine, as a command. */
export function sqlProgram(engine: SqlEngineName): readonly string[] {
  const parts = engine === "sqlite" ? [asset("sql_sqlite.py")] : [asset("sql_postgres.py"), asset("sql_dump.py")];
  return [...PYTHON, `${parts.join("\n")}\n${asset("sql_driver.py")}`];
}

/**
 * Runs one text over all data sets, in one process.
 * Throws `task_invalid` for a schema or data that cannot be loaded, `verifier_crashed` when the engine does not start.
 */
export async function runSql(request: SqlRequest, { sandbox, runtime, signal }: SqlPlace): Promise<SqlAnswers> {
  const nonce = Buffer.from(runtime.randomBytes(16)).toString("hex");
  const statements = request.datasets.length * (3 + request.checks.length);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let result: ExecResult | null = null;
  try {
    result = await sandbox.exec(sqlProgram(request.engine), {
      user: "subject",
      cwd: "/",
      envVars: SQL_ENVIRONMENT,
      input: Buffer.from(JSON.stringify({ ...request, nonce }), "utf8"),
      timeoutMs: START_MS + request.timeoutMs * statements,
      killGraceMs: 0,
      outputBytesMax: OUTPUT_BYTES_MAX,
      descendants: "kill",
      signal,
      pipes: [
        {
          fd: 3,
          onBytes: (more) => {
            bytes += more.length;
            if (bytes <= REPLY_BYTES_MAX) chunks.push(more.slice());
          },
        },
      ],
    });
  } catch (error) {
    if (toFailure(error).code !== "sandbox_killed") throw error;
  }
  if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
  return answers(request, linesOf(Buffer.concat(chunks), nonce), result);
}

function linesOf(said: Buffer, nonce: string): { readonly kind: string; readonly rest: string }[] {
  const prefix = `${nonce} `;
  return said
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      if (!line.startsWith(prefix)) return [];
      const [kind = "", ...rest] = line.slice(prefix.length).split(" ");
      return [{ kind, rest: rest.join(" ") }];
    });
}

function answers(request: SqlRequest, lines: ReturnType<typeof linesOf>, result: ExecResult | null): SqlAnswers {
  const [hello, ready] = lines;
  const fault = lines.find((line, index) => index === 1 && line.kind === "fault");
  if (fault !== undefined) {
    throw new Failure(
      "task_invalid",
      `A SQL test cannot be set up, its schema or data do not load, or there is no engine: ${fault.rest}.`,
    );
  }
  if (hello?.kind !== "hello" || ready?.kind !== "ready") {
    const said =
      result?.startError ??
      Buffer.from(result?.stderr ?? [])
        .toString("utf8")
        .slice(-400);
    throw new Failure(
      "verifier_crashed",
      `The ${request.engine} engine did not start (${result?.verdict ?? "killed"}): ${said}. ${needs(request.engine)}`,
    );
  }
  const results = lines.filter((line) => line.kind === "result").map((line) => parsed(line.rest));
  const replies = results.flatMap((one) => (one === null ? [] : [one]));
  if (replies.length === request.datasets.length && results.length === replies.length) {
    return { kind: "replies", replies };
  }
  const isTimeout = result?.timedOut === true;
  const how = result === null ? "killed the sandbox" : result.oomKilled ? "out of memory" : result.verdict;
  return { kind: "died", isTimeout, detail: `the text ended the database engine (${how})` };
}

function parsed(text: string): SqlReply | null {
  try {
    return reply.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function needs(engine: SqlEngineName): string {
  return engine === "sqlite"
    ? `The image needs ${PYTHON[0]} with its sqlite3 module.`
    : `The image needs ${PYTHON[0]} and a PostgreSQL server below /usr/lib/postgresql.`;
}
