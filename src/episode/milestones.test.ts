/** Milestones of real sandboxes: what each predicate sees, what it must not be fooled by, and that looking leaves nothing. */
import { hash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MilestoneReading, MilestoneSpec, Predicate } from "../core/milestone.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { gradingRig, hiddenTask } from "../verifier/grading-support.ts";
import { gradingRequest } from "../verifier/subject-sandbox.ts";
import { readMilestones } from "./milestones.ts";

const rig = gradingRig();
const task = hiddenTask("unittest", { path: "a.py", text: "", names: [] });
const signal = new AbortController().signal;
let sandbox: Sandbox;
let count = 0;

beforeAll(async () => {
  const artifacts = { answer: null, files: [], missing: [], hash: "" };
  const attemptId = `milestones-${process.pid}`;
  const request = gradingRequest({ task, artifacts, gradingSeed: 1n, attemptId, fence: 1, signal }, "verifier");
  sandbox = await rig.pool.claim({ ...request, role: "agent" }, signal);
  await agent("mkdir -p /tmp/work");
});

afterAll(async () => {
  await sandbox.destroy();
  expect(await rig.close()).toEqual([]);
});

async function agent(command: string): Promise<void> {
  const result = await sandbox.exec(command, { user: "agent", timeoutMs: 10_000, outputBytesMax: 10_000 });
  expect(Buffer.from(result.stderr).toString()).toBe("");
}

async function read(spec: MilestoneSpec, before: MilestoneReading | null = null, agentUser = "agent") {
  count += 1;
  return readMilestones({
    spec,
    task: { ...task, agentUser },
    before,
    sandbox,
    pool: rig.pool,
    runtime: rig.runtime,
    attemptId: `milestones-${process.pid}-${count}`,
    fence: 1,
    signal,
  });
}

async function truths(...predicates: Predicate[]): Promise<unknown[]> {
  const { states } = await read(specOf(...predicates));
  return states.map((state) => state.value);
}

function specOf(...predicates: Predicate[]): MilestoneSpec {
  const items = predicates.map((predicate, index) => ({ name: `m-${index}`, predicate, weight: 1, once: true }));
  return { items, cap: 0.2, credit: "shaping" };
}

const file = (path: string, more: object = {}): Predicate => ({ kind: "file", path, ...more });

test("a file is seen by its existence, size, hash, pattern and a value in its JSON", async () => {
  await agent(`printf '{"a": {"b/c": [1, 2]}}' > /tmp/work/data.json`);
  const json = '{"a": {"b/c": [1, 2]}}';
  const path = "/tmp/work/data.json";
  expect(
    await truths(
      file(path),
      file("/tmp/work/none"),
      file("/tmp/work/none", { exists: false }),
      file("/tmp/work", { exists: true }),
      file("/tmp/work", { bytesMin: 0 }),
      file(path, { bytesMin: json.length, bytesMax: json.length }),
      file(path, { bytesMax: 3 }),
      file(path, { sha256: hash("sha256", json, "hex") }),
      file(path, { sha256: hash("sha256", "other", "hex") }),
      file(path, { regex: "b/c.*2" }),
      file(path, { regex: "^2" }),
      file(path, { json: { pointer: "/a/b~1c/1", equals: 2 } }),
      file(path, { json: { pointer: "/a/b~1c/01", equals: 2 } }),
      file(path, { json: { pointer: "/__proto__", equals: {} } }),
    ),
  ).toEqual([true, false, true, true, false, true, false, true, false, true, false, true, false, false]);
});

test("a link to a file the agent did not make is not that file", async () => {
  await agent("ln -sf /etc/passwd /tmp/work/link; ln -sfn /etc /tmp/work/folder");
  expect(
    await truths(
      file("/tmp/work/link", { regex: "root" }),
      file("/tmp/work/folder/passwd", { regex: "root" }),
      { kind: "query", database: "/tmp/work/link", sql: "SELECT 1", equals: 1 },
      { kind: "query", database: "/tmp/work/folder/passwd", sql: "SELECT 1", equals: 1 },
    ),
  ).toEqual([false, "unknown", "unknown", "unknown"]);
});

test("a pattern that takes exponential time on the agent's text is unknown, and holds nobody up", async () => {
  await agent("head -c 40000 /dev/zero | tr '\\0' a > /tmp/work/slow");
  expect(await truths(file("/tmp/work/slow", { regex: "^(a|a)*b$" }), file("/tmp/work/slow"))).toEqual([
    "unknown",
    true,
  ]);
});

test("a listener, a process and what a service answers are seen from outside the agent's shell", async () => {
  await agent(`cat > /tmp/work/service.py <<'PY'
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 302)
        if self.path != "/health": self.send_header("Location", "/health")
        self.end_headers()
        self.wfile.write(b'{"ok": true}')
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 8080), Handler)
if os.fork() == 0:
    os.setsid()
    server.serve_forever()
PY
/usr/bin/python3 /tmp/work/service.py > /dev/null 2>&1`);
  const before = await sandbox.processes();
  const http = (url: string, more: object = {}): Predicate => ({ kind: "http", url, status: 200, ...more });
  expect(
    await truths(
      { kind: "port", port: 8080 },
      { kind: "port", port: 80 },
      { kind: "process", argv: ["python3", "service.py"] },
      { kind: "process", argv: ["/usr/bin/python3", "/tmp/work/service.py"] },
      http("http://127.0.0.1:8080/health"),
      http("http://127.0.0.1:8080/health", { json: { pointer: "/ok", equals: true } }),
      http("http://127.0.0.1:8080/health", { json: { pointer: "/ok", equals: 1 } }),
      http("http://127.0.0.1:8080/moved"),
      http("http://127.0.0.1:9/"),
    ),
  ).toEqual([true, false, false, true, true, true, false, false, false]);
  expect((await sandbox.processes()).map((each) => each.pid)).toEqual(before.map((each) => each.pid));
});

test("programs that an agent who is root could have replaced are not asked", async () => {
  const spec = specOf({ kind: "port", port: 8080 }, { kind: "http", url: "http://127.0.0.1:8080/health", status: 200 });
  const { states, share } = await read(spec, null, "root");
  expect(states.map((state) => state.value)).toEqual(["unknown", "unknown"]);
  expect(share).toBe(0);
});

test("a database is asked in a clean sandbox, its write-ahead log included, and stays as it was", async () => {
  await agent(`/usr/bin/python3 - <<'PY'
import os, sqlite3
connection = sqlite3.connect("/tmp/work/shop.db")
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE item (name TEXT, price REAL)")
connection.execute("INSERT INTO item VALUES ('tea', 2.5)")
connection.commit()
os._exit(0)
PY
printf 'not a database, though it is long enough to look like one' > /tmp/work/junk.db`);
  const query = (database: string, sql: string, equals: string | number | null): Predicate => {
    return { kind: "query", database, sql, equals };
  };
  const database = "/tmp/work/shop.db";
  const listing = async () => sandbox.files.list("/tmp/work", { recursive: true, entriesMax: 100 });
  const before = await listing();
  expect(
    await truths(
      query(database, "SELECT name FROM item", "tea"),
      query(database, "SELECT count(*) FROM item", 2),
      query(database, "SELECT name FROM item WHERE price > 3", "tea"),
      query(database, "DELETE FROM item RETURNING name", "tea"),
    ),
  ).toEqual([true, false, false, "unknown"]);
  expect(
    await truths(
      query(database, "SELECT name FROM missing", "tea"),
      query("/tmp/work/junk.db", "SELECT 1", 1),
      query("/tmp/work/none.db", "SELECT 1", 1),
    ),
  ).toEqual(["unknown", "unknown", false]);
  expect(await listing()).toEqual(before);
});

test("a hanging service is unknown in time, and unknown is never true", async () => {
  await agent(`/usr/bin/python3 -c '
import os, socket, time
server = socket.create_server(("127.0.0.1", 8081))
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
' > /dev/null 2>&1`);
  const http: Predicate = { kind: "http", url: "http://127.0.0.1:8081/", status: 200 };
  const gone = file("/tmp/work/none");
  const there = file("/tmp/work");
  expect(
    await truths(
      http,
      { kind: "not", of: http },
      { kind: "all", of: [http, gone] },
      { kind: "all", of: [http, there] },
      { kind: "any", of: [http, there] },
      { kind: "any", of: [http, gone] },
    ),
  ).toEqual(["unknown", "unknown", false, "unknown", true, "unknown"]);
});

test("what was reached stays reached, what follows the state falls with it, and the unknown keeps what it was", async () => {
  const items = [true, false].map((once) => {
    return { name: `once-${once}`, predicate: file("/tmp/work/flag"), weight: once ? 1 : 3, once };
  });
  const spec: MilestoneSpec = { items, cap: 0.2, credit: "shaping" };
  const first = await read(spec);
  await agent("touch /tmp/work/flag");
  const second = await read(spec, first);
  await agent("rm /tmp/work/flag");
  const third = await read(spec, second);
  expect([first.share, second.share, third.share]).toEqual([0, 1, 0.25]);
  expect(second.turnReward).toBeCloseTo(0.2, 12);
  expect(third.turnReward).toBeCloseTo(-0.15, 12);
  const blind = await readMilestones({
    spec,
    task,
    before: second,
    sandbox: null,
    pool: rig.pool,
    runtime: rig.runtime,
    attemptId: "blind",
    fence: 1,
    signal,
  });
  expect(blind).toMatchObject({ share: 1, turnReward: 0, states: [{ value: "unknown", counts: true }, {}] });
});
