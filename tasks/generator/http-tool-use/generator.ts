/**
 * `http-tool-use`: a clerk carries out a user's request by calls to a stateful HTTP API, under a policy that wins over
 * the request. What is graded is the data base alone: all that was called for, once, and nothing else.
 *
 * A request kind draws rows, policy and what is wanted in the end; the server, the documents, the client of the
 * solutions and the hidden tests are the same for all.
 */
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftSolution, type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { apiOf, databaseOf, instructionOf, type Place, policyOf } from "./documents.ts";
import { type HiddenTest, hiddenTests, type Sorted, sortedWanted, testId, testsOf } from "./hidden-tests.ts";
import type { DrawnRequest, RequestDials, Value, Wanted } from "./request.ts";
import { KINDS } from "./requests/kinds.ts";
import { serverProgram } from "./server/core.ts";
import { type ClientFlaw, replaced, solveScript } from "./solution-client.ts";

const WEIGHTS = { unit: 0.4, integration: 0, boundary: 0.6 };
const PORTS = { min: 7_000, max: 9_800 };

export const generator: FolderGenerator = {
  name: "http-tool-use",
  family: "http-tool-use",
  version: 1,
  dials: {
    records: { min: 40, max: 120, step: 20, meaning: "records of the collection that the request is about" },
    clauses: {
      min: 0,
      max: 3,
      step: 1,
      meaning: "optional clauses of the policy in force, as far as the request has them",
    },
    faults: {
      min: 1,
      max: 3,
      step: 1,
      meaning: "1: lost answers; 2: a colleague's edit, too; 3: an edit, too, that changes what is right",
    },
  },
  draw({ dials: { records = 60, clauses = 1, faults = 2 }, random }) {
    const kind = random.fork("kind").pick(KINDS);
    const dials = { records, clauses, faults };
    const drawn = kind.draw(random.fork(kind.name), dials);
    const sorted = sortedWanted(drawn);
    if (sorted.plain.size === 0 || sorted.later.length === 0 || sorted.lost.length === 0) return null;
    const place = { port: random.fork("place").integer(PORTS.min, PORTS.max), folder: "/srv/desk" };
    const base = `http://127.0.0.1:${place.port}`;
    return drawnFolder({
      slug: drawn.slug,
      config: configOf(kind.name, drawn, sorted, dials, place),
      instruction: instructionOf(drawn, place),
      image: {
        base: "host",
        programs: ["bash", "python3", "curl"],
        files: [
          { source: "documents", target: "/app" },
          { source: "desk", target: place.folder },
        ],
      },
      setup: setupOf(place),
      environment: {
        "documents/API.md": apiOf(drawn, place),
        "documents/POLICY.md": policyOf(drawn),
        "desk/server.py": serverProgram(drawn.world.server),
        "desk/settings.json": settingsOf(drawn, place, random.fork("burst").integer(24, 32)),
      },
      tests: hiddenTests(drawn, sorted, databaseOf(place)),
      solution: { solve: solveScript(base, drawn.solve) },
      alternatives: { "by-curl": { solve: solveScript(base, drawn.solve, { isCurl: true }) } },
      wrong: wrongSolutions(drawn, sorted, base, databaseOf(place)),
    });
  },
};

function settingsOf({ service, today, tables, faults }: DrawnRequest, { port }: Place, burst: number): string {
  return JSON.stringify({ service, today, port, burst, edits: faults.edits, losses: faults.losses, tables }, null, 1);
}

function setupOf({ port, folder }: Place): string {
  return `# The desk's files and data are root's; the agent reaches them through the port alone.
chown -R root:root ${folder}
chmod 700 ${folder}
chown 1000:1000 /app
chown root:root /app/API.md /app/POLICY.md
chmod 444 /app/API.md /app/POLICY.md
rm -f ${folder}/desk.db
setsid -f python3 -I ${folder}/server.py </dev/null >/dev/null 2>&1
python3 -I -c '
import socket, time
for _ in range(1000):
    try:
        socket.create_connection(("127.0.0.1", ${port}), 1).close()
        break
    except OSError:
        time.sleep(0.02)
else:
    raise SystemExit("the desk does not answer")
'
`;
}

function wrongSolutions(
  drawn: DrawnRequest,
  sorted: Sorted,
  base: string,
  database: string,
): Readonly<Record<string, DraftWrong>> {
  const tests = testsOf(sorted);
  const client = (flaw: ClientFlaw, ...failing: readonly string[]): DraftWrong => ({
    solve: solveScript(base, drawn.solve, { flaw }),
    ...limitOf(tests, "boundary", failing),
  });
  const nothing = (script: DraftSolution): DraftWrong => ({ ...script, rewardMax: 0, failsTier: "unit" });
  const rules = drawn.flaws.map(({ name, failsTier, from, to }): readonly [string, DraftWrong] => {
    const solve = solveScript(base, replaced(drawn.solve, from, to));
    return [name, { solve, ...limitOf(tests, failsTier, [failsTier === "boundary" ? "test_edges" : ""]) }];
  });
  return {
    "first-page-only": client("first-page-only", "test_later_pages"),
    "new-key-each-try": client("new-key-each-try", "test_lost_answers", "test_nothing_is_done_twice"),
    "gives-up-when-limited": client("gives-up-when-limited"),
    ...(drawn.isStaleWrong ? { "keeps-stale-copy": client("keeps-stale-copy", "test_edited") } : {}),
    ...Object.fromEntries(rules),
    "says-it-is-done": nothing({ solve: `echo '{"done": true}' > /app/result.json\necho "All done."\n` }),
    "writes-the-database": nothing({
      solve: `python3 -c 'import sqlite3; sqlite3.connect("${database}").execute("DELETE FROM notes")'\n`,
    }),
  };
}

/** At most all but the tests that are known to fail, one at least; damage earns nothing. */
function limitOf(tests: readonly HiddenTest[], tier: HiddenTest["tier"], failing: readonly string[]) {
  if (tier === "integration") return { rewardMax: 0, failsTier: tier };
  const ofTier = tests.filter((test) => test.tier === tier);
  const count = Math.max(1, ofTier.filter(({ method }) => failing.includes(method)).length);
  return { rewardMax: Math.ceil((1 - (WEIGHTS[tier] * count) / ofTier.length) * 10_000) / 10_000, failsTier: tier };
}

function configOf(kind: string, drawn: DrawnRequest, sorted: Sorted, dials: RequestDials, place: Place) {
  const level = Math.min(
    5,
    1 + Math.round((dials.clauses + 2 * (dials.faults - 1) + (dials.records > 60 ? 1 : 0)) / 2),
  );
  return {
    task: { description: drawn.description, keywords: ["http", "api", drawn.world.name, kind] },
    agent: { timeout_sec: 900 },
    verifier: { timeout_sec: 300 },
    environment: { cpus: 1, memory_mb: 256, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "http-tool-use",
      difficulty: { level, dials },
      limits: { turns: 50, command_sec: 120 },
      resources: { processes: 128 },
      contract: {
        files: [{ path: databaseOf(place), required: true, kind: "sqlite" }],
        bytes_max: 8_388_608,
        entries_max: 10,
      },
      protected: ["/app/API.md", "/app/POLICY.md"],
      tiers: [
        { name: "unit", weight: WEIGHTS.unit },
        { name: "integration", weight: WEIGHTS.integration, veto: true },
        { name: "boundary", weight: WEIGHTS.boundary },
      ],
      milestones: milestonesOf(drawn, sorted, databaseOf(place)),
      requirements: testsOf(sorted).map((test) => ({
        id: test.method.slice(5).replaceAll("_", "-"),
        text: test.requirement,
        kind: test.tier === "boundary" ? "boundary" : "functional",
        tests: [testId(test)],
      })),
    },
  };
}

function milestonesOf({ main }: DrawnRequest, { plain, later }: Sorted, database: string) {
  const query = (name: string, sql: string) => ({ name, predicate: { query: sql, database, equals: 1 } });
  const all = [...plain.values()].flat();
  return [
    query(
      "records-are-read",
      `SELECT count(*) > 0 FROM request_log WHERE method = 'GET' AND status = 200 AND path LIKE '/v1/${main}%'`,
    ),
    query("first-right-write", `SELECT ${all.map(isThere).join(" OR ")}`),
    query("right-write-of-a-later-page", `SELECT ${later.slice(0, 20).map(isThere).join(" OR ")}`),
  ];
}

/** A condition: this wanted row is there. */
function isThere({ table, id, fields }: Wanted): string {
  const terms = Object.entries(id === null ? fields : { id, ...fields }).map(([field, value]) =>
    value === null ? `"${field}" IS NULL` : `"${field}" = ${literal(value)}`,
  );
  return `EXISTS (SELECT 1 FROM "${table}" WHERE ${terms.join(" AND ")})`;
}

function literal(value: Exclude<Value, null>): string {
  if (typeof value === "number") return String(value);
  return `'${(typeof value === "string" ? value : packed(value)).replaceAll("'", "''")}'`;
}

/** As Python writes JSON, since that is how the server keeps lists. */
function packed(value: readonly (string | Readonly<Record<string, string | number>>)[]): string {
  const items = value.map((item) =>
    typeof item === "string"
      ? JSON.stringify(item)
      : `{${Object.entries(item)
          .map(([field, inner]) => `${JSON.stringify(field)}: ${JSON.stringify(inner)}`)
          .join(", ")}}`,
  );
  return `[${items.join(", ")}]`;
}
