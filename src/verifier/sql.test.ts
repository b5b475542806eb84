import { afterAll, expect, test } from "vitest";
import { describeUnless, MISSING, testUnless } from "../../test/support/unless.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { Task } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";
import { createVerifier } from "./verifier.ts";

const rig = gradingRig();
afterAll(async () => expect(await rig.close()).toEqual([]));

const ENGINES = ["sqlite", "postgresql"] as const;
const SCHEMA = "CREATE TABLE orders(id integer primary key, who text not null, cents integer not null);";
const DATA = {
  few: "INSERT INTO orders VALUES (1,'ada',500),(2,'bob',250),(3,'ada',500);",
  one: "INSERT INTO orders VALUES (1,'cy',7);",
  none: "",
};
const ROWS = {
  few: [
    ["ada", 1000],
    ["bob", 250],
  ],
  one: [["cy", 7]],
  none: [],
};
const GOOD = "SELECT who, sum(cents) AS total FROM orders GROUP BY who";

function queryTask(engine: string, change: Record<string, unknown> = {}, files: readonly FileContent[] = []): Task {
  const written = {
    engine,
    query: "/app/answer.sql",
    schema: "support/schema.sql",
    datasets: (["few", "one", "none"] as const).map((name) => ({
      name,
      data: `support/${name}.sql`,
      rows: ROWS[name],
    })),
    columns: [{ name: "who", type: "text" }, { name: "total" }],
    ...change,
  };
  return sqlTask(written, files);
}

function sqlTask(written: unknown, files: readonly FileContent[] = []): Task {
  const task = hiddenTask("sql", { path: "top.sql.json", text: JSON.stringify(written), names: [] });
  const support = [
    file("/tests/support/schema.sql", SCHEMA),
    ...Object.entries(DATA).map(([name, text]) => file(`/tests/support/${name}.sql`, text)),
  ];
  const manifest = [{ id: "unit/top.sql.json", tier: "unit" }];
  return { ...task, verifier: { ...task.verifier, manifest, files: [...task.verifier.files, ...support, ...files] } };
}

async function grade(task: Task, sql: string, more: readonly FileContent[] = []) {
  const verdict = await rig.grade(task, [file("/app/answer.sql", sql), ...more]);
  const [only] = verdict.tests;
  return { status: only?.status, detail: only?.detail ?? "", total: verdict.total };
}

for (const engine of ENGINES) {
  describeUnless(engine === "sqlite" ? null : MISSING.postgresql)(`queries on ${engine}`, () => {
    test("a right query earns the tier, on data sets it has never seen", async () => {
      expect(await grade(queryTask(engine), GOOD)).toEqual({ status: "passed", detail: "", total: 1 });
    });

    test("expected rows may come from a reference, which runs where nothing of the agent is", async () => {
      const datasets = ["few", "one", "none"].map((name) => ({ name, data: `support/${name}.sql` }));
      const change = { datasets, reference: "support/right.sql", columns: undefined };
      const task = queryTask(engine, change, [file("/tests/support/right.sql", GOOD)]);
      expect(await grade(task, `${GOOD} ORDER BY 2`)).toMatchObject({ status: "passed" });
      expect(await grade(task, GOOD.replace("sum", "max"))).toMatchObject({ status: "failed" });
    });

    test("pattern 47: a text that changes the source rows is refused", async () => {
      for (const sql of [
        "UPDATE orders SET cents = 1 RETURNING who, cents AS total",
        "DELETE FROM orders",
        `DELETE FROM orders; ${GOOD}`,
      ]) {
        expect(await grade(queryTask(engine), sql), sql).toMatchObject({ status: "failed", total: 0 });
      }
    });

    test("pattern 48: a view, trigger, function or search path of the agent cannot shadow a table", async () => {
      for (const sql of [
        "CREATE TEMP VIEW orders AS SELECT 'ada' AS who, 1 AS cents",
        ...(engine === "sqlite" ? [`CREATE TEMP TABLE orders(who text, cents integer); ${GOOD}`] : []),
        `CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END; ${GOOD}`,
        `SET search_path = mine, public; ${GOOD}`,
      ]) {
        expect(await grade(queryTask(engine), sql), sql).toMatchObject({ status: "failed", total: 0 });
      }
    });

    test("pattern 49: constants equal to one result fail on the other data sets and in the plan", async () => {
      const values = "SELECT 'ada' AS who, 1000 AS total UNION ALL SELECT 'bob', 250";
      expect(await grade(queryTask(engine), values)).toEqual({
        status: "failed",
        detail: 'on the data set "few" its plan reads no base table',
        total: 0,
      });
      const reading = `SELECT * FROM (${values}) AS v WHERE EXISTS (SELECT 1 FROM orders)`;
      expect(await grade(queryTask(engine), reading)).toMatchObject({
        status: "failed",
        detail: expect.stringContaining('"one"'),
      });
    });

    test("pattern 50: a superset, doubled rows, other columns and another order do not pass", async () => {
      const task = queryTask(engine);
      for (const sql of [
        `${GOOD} UNION ALL SELECT 'eve', 1 FROM orders`,
        `${GOOD} UNION ALL ${GOOD}`,
        GOOD.replace("total", "sum"),
        GOOD.replace("SELECT who,", "SELECT who, 1 AS more,"),
        "SELECT sum(cents) AS total, who FROM orders GROUP BY who",
      ]) {
        expect(await grade(task, sql), sql).toMatchObject({ status: "failed", total: 0 });
      }
      const ordered = queryTask(engine, { ordered: true });
      expect(await grade(ordered, `${GOOD} ORDER BY who`)).toMatchObject({ status: "passed" });
      expect(await grade(ordered, `${GOOD} ORDER BY who DESC`)).toMatchObject({ status: "failed" });
    });

    test("a text that never ends, or is missing, empty or no text, fails and is no fault", async () => {
      const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
      expect(await grade(queryTask(engine, { timeoutMs: 500 }), endless)).toMatchObject({
        status: "failed",
        detail: expect.stringContaining("time limit"),
      });
      expect((await rig.grade(queryTask(engine), [])).tests[0]).toMatchObject({
        status: "failed",
        detail: "the agent left no /app/answer.sql",
      });
      expect(await grade(queryTask(engine), " \n")).toMatchObject({ detail: "/app/answer.sql is empty" });
      const junk = { path: "/app/answer.sql", bytes: Uint8Array.of(0xff, 0xfe), mode: 0o644 };
      expect((await rig.grade(queryTask(engine), [junk])).tests[0]).toMatchObject({ status: "failed" });
      expect(await grade(queryTask(engine), "SELEC 1")).toMatchObject({ detail: expect.stringContaining("refused") });
    });

    test("a schema or data that does not load is a fault of the task that names its file", async () => {
      const change = {
        datasets: ["few", "one", "broken"].map((name) => ({ name, data: `support/${name}.sql`, rows: [] })),
      };
      const broken = queryTask(engine, change, [file("/tests/support/broken.sql", "INSERT INTO nowhere VALUES (1)")]);
      await expect(grade(broken, GOOD)).rejects.toMatchObject({
        code: "task_invalid",
        message: expect.stringContaining("tests/unit/top.sql.json#broken"),
      });
    });
  });

  describeUnless(engine === "sqlite" ? null : MISSING.postgresql)(`migrations on ${engine}`, () => {
    const forward =
      "ALTER TABLE orders ADD COLUMN note text; CREATE INDEX by_who ON orders(who); UPDATE orders SET note = who;";
    const back = "DROP INDEX by_who; ALTER TABLE orders DROP COLUMN note;";
    const written = {
      engine,
      forward: "/app/up.sql",
      back: "/app/down.sql",
      schema: "support/schema.sql",
      reference: "support/up.sql",
      datasets: [
        { name: "few", data: "support/few.sql" },
        { name: "none", data: "support/none.sql" },
      ],
      checks: ["SELECT count(*) FROM orders WHERE note = who"],
    };
    const task = sqlTask(written, [file("/tests/support/up.sql", forward)]);
    const migrate = async (up: string, down = back) =>
      (await rig.grade(task, [file("/app/up.sql", up), file("/app/down.sql", down)])).tests[0];

    test("one that ends where the reference does, and can be taken back, passes", async () => {
      expect(await migrate(forward)).toMatchObject({ status: "passed", detail: "" });
    });

    test("one that leaves an index out, a view or trigger behind, or rows changed, fails by name", async () => {
      expect(await migrate(forward.replace("CREATE INDEX by_who ON orders(who);", ""))).toMatchObject({
        status: "failed",
        detail: expect.stringContaining("index"),
      });
      expect(await migrate(`${forward} CREATE VIEW v AS SELECT 1;`)).toMatchObject({
        detail: expect.stringMatching(/view (public\.)?v, which does not belong there/),
      });
      expect(await migrate(`${forward} DELETE FROM orders WHERE id = 1;`)).toMatchObject({
        detail: expect.stringMatching(/rows of (public\.)?orders/),
      });
      expect(await migrate(forward, "DROP INDEX by_who;")).toMatchObject({
        detail: expect.stringContaining("after taking it back"),
      });
    });
  });
}

testUnless(MISSING.postgresql)(
  "a PostgreSQL text reads no file, runs no program, is no superuser, loads nothing and keeps its time limit",
  async () => {
    for (const sql of [
      "SELECT pg_read_file('/etc/passwd') AS who, count(*) AS total FROM orders",
      "COPY orders TO PROGRAM 'touch /tmp/x'",
      "SELECT lo_import('/etc/passwd')::text AS who, count(*) AS total FROM orders",
      "CREATE EXTENSION dblink",
      "SET ROLE owner",
    ]) {
      const got = await grade(queryTask("postgresql"), sql);
      expect(got.detail, sql).toContain("the text was refused");
      expect(got.total).toBe(0);
    }
    const slow = "SELECT set_config('statement_timeout', '0', false) AS who, count(pg_sleep(600)) AS total FROM orders";
    expect(await grade(queryTask("postgresql", { timeoutMs: 1_000 }), slow)).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("time limit"),
    });
  },
);

testUnless(MISSING.postgresql)(
  "PostgreSQL's types come as plain values under pinned settings, and a declared type is held",
  async () => {
    const sql = `SELECT count(*) AS n, avg(cents) / 3 AS share, bool_or(cents > 5) AS many, timestamptz '2024-01-02 03:04:05+02' AS at,
    '\\x00ff'::bytea AS raw, 0.1::float8 AS f FROM orders`;
    const columns = [
      { name: "n", type: "bigint" },
      { name: "share", type: "numeric" },
      { name: "many", type: "boolean" },
      { name: "at", type: "timestamp with time zone" },
      { name: "raw", type: "bytea" },
      { name: "f", type: "double precision" },
    ];
    const row = (n: number, share: unknown, many: boolean | null) => [
      [n, share, many, "2024-01-02 01:04:05+00", { $bytes: "00ff" }, 0.1],
    ];
    const datasets = [
      { name: "few", data: "support/few.sql", rows: row(3, 138.888888889, true) },
      { name: "one", data: "support/one.sql", rows: row(1, 2.33333333333, true) },
      { name: "none", data: "support/none.sql", rows: row(0, null, null) },
    ];
    expect(await grade(queryTask("postgresql", { datasets, columns }), sql)).toMatchObject({
      detail: "",
      status: "passed",
    });
    const [first, ...others] = columns;
    const wrong = [{ ...first, type: "integer" }, ...others];
    expect(await grade(queryTask("postgresql", { datasets, columns: wrong }), sql)).toMatchObject({
      detail: expect.stringContaining("the column n is bigint, not integer"),
    });
  },
);

test("the submitted answer itself may be the query", async () => {
  const task = queryTask("sqlite", { query: undefined });
  const answered = { ...task, contract: { ...task.contract, state: "answer" } } as const;
  const artifacts = { answer: GOOD, files: [], missing: [], hash: "h" };
  const request = {
    task: answered,
    artifacts,
    gradingSeed: 1n,
    attemptId: `answer-${process.pid}`,
    fence: 1,
    signal: new AbortController().signal,
  };
  const verdict = await createVerifier({ runtime: rig.runtime }).grade(request, rig.pool);
  expect(verdict.tests[0]).toMatchObject({ status: "passed", detail: "" });
});

test("a contract that does not collect what a test reads is a fault of the task, and a refused artifact says why", async () => {
  const task = queryTask("sqlite");
  const elsewhere = {
    ...task,
    contract: { ...task.contract, state: "declared", files: [{ path: "/app/other", required: true }] },
  } as const;
  await expect(grade(elsewhere, GOOD)).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringContaining(
      "tests/unit/top.sql.json reads /app/answer.sql, which the contract of test/hidden does not collect",
    ),
  });
  const refused = [{ path: "/app/answer.sql", reason: "it is a link, and links are not followed" }];
  const artifacts = { answer: null, files: [], missing: ["/app/answer.sql"], refused, hash: "h" };
  const request = {
    task,
    artifacts,
    gradingSeed: 1n,
    attemptId: `refused-${process.pid}`,
    fence: 1,
    signal: new AbortController().signal,
  };
  expect((await createVerifier({ runtime: rig.runtime }).grade(request, rig.pool)).tests[0]?.detail).toBe(
    "the agent left no /app/answer.sql: it is a link, and links are not followed",
  );
});

test("a test file with a misspelt field, too few data sets or a path that is not there says what to correct", async () => {
  const wrong = (change: Record<string, unknown>) => grade(queryTask("sqlite", change), GOOD);
  await expect(wrong({ orderd: true })).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringContaining("orderd"),
  });
  await expect(wrong({ datasets: [] })).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringContaining("datasets"),
  });
  await expect(wrong({ schema: "support/no.sql" })).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringContaining("tests/unit/top.sql.json: the file support/no.sql is not there"),
  });
});

test("a migration can neither attach a file, load code, nor write the engine's own tables", async () => {
  const written = {
    engine: "sqlite",
    forward: "/app/answer.sql",
    schema: "support/schema.sql",
    reference: "support/up.sql",
    datasets: [{ name: "few", data: "support/few.sql" }],
  };
  const task = sqlTask(written, [file("/tests/support/up.sql", "CREATE TABLE t(a);")]);
  for (const sql of [
    "ATTACH '/tmp/x' AS x;",
    "SELECT load_extension('x');",
    "PRAGMA writable_schema=ON;",
    "CREATE VIRTUAL TABLE t USING fts5(a);",
    "UPDATE sqlite_schema SET sql = '';",
    "CREATE TEMP TABLE orders(a);",
    "BEGIN; CREATE TABLE t(a);",
  ]) {
    const got = await grade(task, sql);
    expect(got.detail, sql).toContain("the text was refused");
    expect(got.status).toBe("failed");
  }
});
