/**
 * The `query` predicate: what an SQLite database in the agent's sandbox says. The file's bytes are taken out as data and
 * asked in a clean sandbox that no agent has touched: a database made to break its reader breaks nothing that matters,
 * and neither this process nor the agent's sandbox ever opens it.
 */
import { canonicalJson } from "../core/json.ts";
import type { Predicate, Truth } from "../core/milestone.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { leadsThroughLink } from "./milestone-file.ts";
import type { Look } from "./milestone-look.ts";

type QueryPredicate = Extract<Predicate, { readonly kind: "query" }>;

const DATABASE_BYTES_MAX = 32 * 1024 * 1024;
const ANSWER_BYTES_MAX = 64 * 1024;
const QUERY_MS = 1_500;
const LIFETIME_MS = 30_000;
const FOLDER = "/tmp/milestone";

/** Reads the statement from its input; writes the first value of the first row as JSON, or nothing where there is no row. */
const QUERY_PROGRAM = `
import json, sqlite3, sys
connection = sqlite3.connect("file:${FOLDER}/database?mode=rw", uri=True)
connection.execute("PRAGMA trusted_schema = OFF")
connection.execute("PRAGMA query_only = ON")
connection.execute("PRAGMA schema_version")
row = connection.execute(sys.stdin.read()).fetchone()
if row is not None:
    value = row[0]
    print(json.dumps(value.hex() if isinstance(value, bytes) else value))
`;

/** False where there is no such file; unknown where it is no database, has no such table, or no sandbox is free. */
export async function lookIntoDatabase(predicate: QueryPredicate, look: Look): Promise<Truth> {
  const { files } = look.sandbox;
  if (await leadsThroughLink(files, predicate.database)) return "unknown";
  const database = await files.read(predicate.database, { bytesMax: DATABASE_BYTES_MAX });
  if (!database.ok) return database.error === "missing" ? false : "unknown";
  // What was committed but not yet moved into the database itself.
  const log = await files.read(`${predicate.database}-wal`, { bytesMax: DATABASE_BYTES_MAX });
  if (!log.ok && log.error !== "missing") return "unknown";
  return look.pool.withSandbox(requestFor(look), look.signal, async (clean) => {
    await place(clean, "database", database.value);
    if (log.ok) await place(clean, "database-wal", log.value);
    return ask(clean, predicate, look.signal);
  });
}

function requestFor({ task, attemptId, fence }: Look) {
  return {
    attemptId,
    role: "verifier",
    fence,
    image: task.image,
    isolationMin: "namespace",
    limits: { ...task.resources, diskBytes: task.resources.diskBytes + 3 * DATABASE_BYTES_MAX },
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: LIFETIME_MS,
  } as const;
}

async function place(clean: Sandbox, name: string, bytes: Uint8Array): Promise<void> {
  await clean.files.mkdir(FOLDER, { mode: 0o700, user: "verifier" });
  const placed = await clean.files.write({ path: `${FOLDER}/${name}`, bytes, mode: 0o600 }, { user: "verifier" });
  if (!placed.ok) throw new RangeError(placed.message);
}

async function ask(clean: Sandbox, predicate: QueryPredicate, signal: AbortSignal): Promise<Truth> {
  const result = await clean.exec(["/usr/bin/python3", "-I", "-S", "-c", QUERY_PROGRAM], {
    user: "verifier",
    cwd: "/",
    envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
    input: Buffer.from(predicate.sql, "utf8"),
    timeoutMs: QUERY_MS,
    killGraceMs: 0,
    outputBytesMax: ANSWER_BYTES_MAX,
    descendants: "kill",
    signal,
  });
  if (result.exitCode !== 0 || result.stdoutBytesTruncated > 0) return "unknown";
  const answer = Buffer.from(result.stdout).toString("utf8").trim();
  return answer !== "" && canonicalJson(JSON.parse(answer)) === canonicalJson(predicate.equals);
}
