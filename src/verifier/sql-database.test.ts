import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { gradingRig, hiddenTask } from "./grading-support.ts";
import { queryDatabase, queryDump } from "./sql-database.ts";

const rig = gradingRig();
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-sql-"));
});
afterEach(() => rm(folder, { recursive: true }));
afterAll(async () => expect(await rig.close()).toEqual([]));

let attempts = 0;
function request(): GradeRequest {
  attempts += 1;
  return {
    task: hiddenTask("sql", { path: "a", text: "", names: [] }),
    artifacts: { answer: null, files: [], missing: [], hash: "h" },
    gradingSeed: 1n,
    attemptId: `database-${process.pid}-${attempts}`,
    fence: 1,
    signal: new AbortController().signal,
  };
}

async function database(...statements: string[]): Promise<{ readonly bytes: Uint8Array; readonly log?: Uint8Array }> {
  const path = join(folder, "a.db");
  const db = new DatabaseSync(path);
  for (const one of statements) db.exec(one);
  // The log has to be taken before the last connection closes, which empties it.
  const log = await readFile(`${path}-wal`).catch(() => undefined);
  const bytes = await readFile(path);
  db.close();
  return log === undefined ? { bytes } : { bytes, log };
}

async function ask(
  file: { readonly bytes: Uint8Array; readonly log?: Uint8Array },
  sql: string,
  tables: string[] = [],
) {
  return queryDatabase(file, { sql, tables, timeoutMs: 2_000 }, rig.pool, request(), rig.runtime);
}

test("a query of a database file gives typed cells, column names and the tables that were read", async () => {
  const file = await database(
    "CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BLOB)",
    "INSERT INTO t VALUES (1, 0.5, 'x', x'00ff'), (2, NULL, 'é', NULL)",
  );
  expect(await ask(file, "SELECT a, b, c, d FROM t ORDER BY a", ["t"])).toEqual({
    kind: "rows",
    table: {
      columns: ["a", "b", "c", "d"].map((name) => ({ name, type: "" })),
      rows: [
        ["i1", "f0.5", "tx", "b00ff"],
        ["i2", null, "té", null],
      ],
      reads: ["t"],
    },
  });
});

test("rows that are only in the write-ahead log of a killed service are seen", async () => {
  const file = await database("PRAGMA journal_mode=WAL", "CREATE TABLE t(a)", "INSERT INTO t VALUES (7)");
  expect(file.log?.length).toBeGreaterThan(0);
  expect(await ask(file, "SELECT a FROM t")).toMatchObject({ kind: "rows", table: { rows: [["i7"]] } });
});

test("a view that stands in the place of a base table is refused by name", async () => {
  const file = await database("CREATE TABLE real(a)", "CREATE VIEW t AS SELECT 1 AS a");
  expect(await ask(file, "SELECT a FROM t", ["t"])).toEqual({ kind: "refused", detail: "there is no base table t" });
});

test("what is no database, or a damaged one, is a refusal and no fault", async () => {
  const junk = { bytes: Buffer.from("SQLite format 3\0 and then nothing of use".repeat(100)) };
  expect(await ask(junk, "SELECT 1")).toMatchObject({ kind: "refused" });
  const { bytes } = await database("CREATE TABLE t(a)", "CREATE INDEX i ON t(a)", "INSERT INTO t VALUES ('aaaa')");
  // The row and its index now say different things, and a query alone would see only one of them.
  const at = Buffer.from(bytes).indexOf("aaaa");
  const torn = { bytes: Uint8Array.from(bytes).fill(98, at, at + 4) };
  expect(await ask(torn, "SELECT a FROM t")).toMatchObject({
    kind: "refused",
    detail: expect.stringContaining("the database is damaged"),
  });
});

test("a text can neither write, attach, load, set nor run more than one statement", async () => {
  const file = await database("CREATE TABLE t(a)", "INSERT INTO t VALUES (1)");
  for (const sql of [
    "DELETE FROM t",
    "ATTACH '/tmp/x' AS x",
    "SELECT load_extension('/lib/x.so')",
    "PRAGMA query_only=OFF",
    "PRAGMA writable_schema=ON",
    "SELECT 1; SELECT 2",
    "SELECT * FROM pragma_table_info('t')",
    "CREATE TEMP VIEW t AS SELECT 2 AS a",
    "VACUUM INTO '/tmp/x'",
  ]) {
    expect(await ask(file, sql), sql).toMatchObject({ kind: "refused" });
  }
});

test("a text that never ends is stopped at its time, and one that is too much at its bounds", async () => {
  const file = await database("CREATE TABLE t(a)");
  const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";
  expect(await ask(file, `${endless} count(*) FROM n`)).toEqual({
    kind: "refused",
    detail: "the time limit of 2 s was reached",
  });
  expect(await ask(file, `${endless} i FROM n`)).toMatchObject({
    kind: "refused",
    detail: expect.stringContaining("more than 20000 rows"),
  });
});

const DUMP = `SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.t (a integer, b text);
COPY public.t (a, b) FROM stdin;
1\tone
2\t\\N
\\.
ALTER TABLE ONLY public.t ADD CONSTRAINT t_a UNIQUE (a);
`;

function askDump(dump: string, sql: string, tables: string[] = []) {
  return queryDump(Buffer.from(dump), { sql, tables, timeoutMs: 5_000 }, rig.pool, request(), rig.runtime);
}

testUnless(MISSING.postgresql)(
  "a PostgreSQL dump is restored with its rows and asked by a role that may only read",
  async () => {
    expect(await askDump(DUMP, "SELECT a, b FROM t ORDER BY a", ["t"])).toEqual({
      kind: "rows",
      table: {
        columns: [
          { name: "a", type: "integer" },
          { name: "b", type: "text" },
        ],
        rows: [
          ["i1", "tone"],
          ["i2", null],
        ],
        reads: ["t"],
      },
    });
    expect(await askDump(DUMP, "DELETE FROM t RETURNING a")).toMatchObject({ kind: "refused" });
  },
);

testUnless(MISSING.postgresql)(
  "a dump with a client's command, a program, a view for a table, or rows without end is refused and no fault",
  async () => {
    for (const [dump, said] of [
      [`\\! touch /tmp/x\n${DUMP}`, "a command of a client"],
      ["CREATE TABLE t(a text); COPY t FROM PROGRAM 'id';", "does not load"],
      ["CREATE VIEW public.t AS SELECT 1 AS a, 'x' AS b;", "no base table t"],
      ["CREATE TABLE public.t(a int);\nCOPY public.t (a) FROM stdin;\n1\n", "no end"],
      ["CREATE FUNCTION f() RETURNS int LANGUAGE c AS '/app/evil.so';", "does not load"],
    ] as const) {
      expect(await askDump(dump, "SELECT a FROM t", ["t"]), dump).toMatchObject({
        kind: "refused",
        detail: expect.stringContaining(said),
      });
    }
  },
);
