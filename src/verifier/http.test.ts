import { afterAll, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import type { ServiceSpec, Task } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const WEB: ServiceSpec = {
  name: "web",
  argv: ["/usr/bin/python3", "service.py"],
  cwd: "/app",
  envVars: {},
  port: 8099,
  readyMs: 4_000,
};

/** A store of items in a database file; what is in `cache` lives in memory alone. */
const STORE = `
import json, sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer
db = sqlite3.connect("/app/data.db")
db.execute("CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT)")
db.commit()
cache = {}
class Handler(BaseHTTPRequestHandler):
    def send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        item = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cache[item["name"]] = True
        row = db.execute("INSERT INTO items (name) VALUES (?)", [item["name"]])
        db.commit()
        self.send(201, {"id": row.lastrowid, "name": item["name"], "share": 1 / 3})
    def do_GET(self):
        if self.path == "/items":
            names = [name for (name,) in db.execute("SELECT name FROM items ORDER BY id")]
            self.send(200, {"items": names, "cached": len(cache)})
        else:
            self.send(404, {"error": "none"})
HTTPServer(("127.0.0.1", 8099), Handler).serve_forever()
`;

function task(probes: unknown, change: Partial<Task> = {}, services: readonly ServiceSpec[] = [WEB]) {
  const text = typeof probes === "string" ? probes : JSON.stringify({ probes });
  const names = Array.isArray(probes) ? probes.map(({ name }) => String(name)) : ["it"];
  const made = hiddenTask("http", { path: "store.http.json", text, names }, change);
  const MIB = 1024 * 1024;
  const resources = { ...made.resources, memoryBytes: 256 * MIB };
  return { ...made, resources, verifier: { ...made.verifier, services } };
}

async function graded(probes: unknown, service = STORE, change: Partial<Task> = {}) {
  return rig.grade(task(probes, change), [file("/app/service.py", service)]);
}

async function statuses(probes: unknown, service = STORE, change: Partial<Task> = {}) {
  const verdict = await graded(probes, service, change);
  return Object.fromEntries(verdict.tests.map(({ id, status }) => [id.split("::")[1], status]));
}

const GET = { name: "it", request: { path: "/items" }, expect: { status: 200 } };
const CREATE = {
  name: "creates",
  request: { method: "POST", path: "/items", json: { name: "{{word first}}" } },
  expect: {
    status: 201,
    headers: { "content-type": { contains: "application/json" } },
    json: [
      { pointer: "/name", equals: "{{word first}}" },
      { pointer: "/share", equals: 0.3333, tolerance: 0.001 },
      { pointer: "/secret", absent: true },
      {
        pointer: "",
        schema: { type: "object", required: ["id"], properties: { id: { type: "integer", minimum: 1 } } },
      },
    ],
  },
};

test("a service is started from the artifacts, answers its probes, and its database is asked as data", async () => {
  const probes = [
    CREATE,
    { ...GET, name: "lists", expect: { status: 200, json: [{ pointer: "/items", equals: ["{{word first}}"] }] } },
    {
      name: "wrong",
      request: { path: "/items" },
      expect: { status: 200, json: [{ pointer: "/items/0", equals: "x" }] },
    },
    { name: "absent", request: { path: "/none" }, expect: { status: [404, 410] } },
    {
      name: "kept",
      query: { database: "/app/data.db", sql: "SELECT id, name FROM items", tables: ["items"] },
      expect: { rows: [[1, "{{word first}}"]] },
    },
    {
      name: "other",
      query: { database: "/app/data.db", sql: "SELECT count(*) FROM items" },
      expect: { rows: [[2]] },
    },
  ];
  const verdict = await graded(probes);
  expect(verdict.tests.map(({ id, status, detail }) => [id.split("::")[1], status, detail])).toEqual([
    ["creates", "passed", ""],
    ["lists", "passed", ""],
    ["wrong", "failed", expect.stringContaining("/items/0 is")],
    ["absent", "passed", ""],
    ["kept", "passed", ""],
    ["other", "failed", expect.stringContaining("not expected")],
  ]);
  expect(verdict.scores).toMatchObject([{ verifier: "http", value: 4 / 6 }]);
});

test("what a service kept in memory alone is gone after a restart, what it stored is not", async () => {
  const cached = { pointer: "/cached", equals: 0 };
  const probes = [
    CREATE,
    { ...GET, name: "fresh", expect: { status: 200, json: [cached] } },
    {
      ...GET,
      name: "survives",
      restart: true,
      expect: { status: 200, json: [cached, { pointer: "/items", equals: ["{{word first}}"] }] },
    },
  ];
  expect(await statuses(probes)).toEqual({ creates: "passed", fresh: "failed", survives: "passed" });
});

const SERVER = `
import os, socket, sys, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", 8099))
server.listen(64)
def each(answer):
    while True:
        link, _ = server.accept()
        try:
            link.settimeout(30)
            data = b""
            while b"\\r\\n\\r\\n" not in data:
                more = link.recv(65536)
                if not more: break
                data += more
            if data: answer(link)
        except OSError: pass
        link.close()
OK = b"HTTP/1.1 200 OK\\r\\n"
`;

test.each([
  ["does not parse", "def (", "failed", "SyntaxError"],
  ["ends at once", "import sys; sys.exit(3)", "failed", "exit code 3"],
  ["never listens", "import time; time.sleep(600)", "failed", "did not answer on port 8099"],
  ["kills all it can see", "import os; os.kill(-1, 9)", "failed", "did not answer"],
  ["holds the port with a stub that never answers", `${SERVER}time.sleep(600)`, "timeout", "no whole answer"],
  [
    "answers byte by byte",
    `${SERVER}\ndef slow(link):\n    while True: link.send(b"H"); time.sleep(0.2)\neach(slow)`,
    "timeout",
    "no whole answer",
  ],
  ["dies while it answers", `${SERVER}each(lambda link: os._exit(1))`, "failed", "no answer"],
  ["speaks no HTTP", `${SERVER}each(lambda link: link.sendall(b"junk\\r\\n" * 100))`, "failed", "no answer"],
  [
    "sends endless headers",
    `${SERVER}each(lambda link: [link.sendall(OK)] + [link.sendall(b"A: b\\r\\n") for _ in range(10**6)])`,
    "failed",
    "no answer",
  ],
  [
    "sends 10 GiB in chunks",
    `${SERVER}
def flood(link):
    link.sendall(OK + b"Transfer-Encoding: chunked\\r\\n\\r\\n")
    for _ in range(10 * 1024): link.sendall(b"100000\\r\\n" + b"x" * 0x100000 + b"\\r\\n")
each(flood)`,
    "failed",
    "more than 1048576 bytes",
  ],
  [
    "promises more than it sends",
    `${SERVER}each(lambda link: link.sendall(OK + b"Content-Length: 100\\r\\n\\r\\nshort"))`,
    "failed",
    "early",
  ],
  [
    "redirects away",
    `${SERVER}each(lambda link: link.sendall(b"HTTP/1.1 302 Found\\r\\nLocation: http://10.0.0.1/\\r\\nContent-Length: 0\\r\\n\\r\\n"))`,
    "failed",
    "status 302",
  ],
  ["fills memory", "a = []\nwhile True: a.append(bytearray(1 << 20))", "failed", "did not answer"],
  [
    "forks without end",
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "failed",
    "did not answer",
  ],
  ["prints without end", "while True: print('x' * 1000)", "failed", "did not answer"],
])("a service that %s fails its tests, and is no fault", async (_name, service, status, said) => {
  const probe = {
    ...GET,
    request: { path: "/items", timeout_ms: 1_500 },
    expect: { status: 200, json: [{ pointer: "", schema: {} }] },
  };
  const change = { limits: { ...task([]).limits, gradeMs: 30_000 } };
  const verdict = await graded([probe], service, change);
  expect(verdict.total).toBe(0);
  expect(verdict.tests).toMatchObject([{ status, detail: expect.stringContaining(said) }]);
});

test("a service that keeps its port closed uses up the time of one grading, however many files of probes there are", async () => {
  const one = task([GET]);
  const paths = Array.from({ length: 6 }, (_, index) => `part${index}.http.json`);
  const [probes] = one.verifier.files;
  const many = {
    ...one,
    limits: { ...one.limits, gradeMs: 5_000 },
    verifier: {
      ...one.verifier,
      services: [{ ...WEB, readyMs: 2_500 }],
      files: paths.map((path) => ({
        path: `/tests/unit/${path}`,
        bytes: probes?.bytes ?? new Uint8Array(),
        mode: 0o644,
      })),
      manifest: paths.map((path) => ({ id: `unit/${path}::it`, tier: "unit" })),
    },
  };
  const verdict = await rig.grade(many, [file("/app/service.py", "import time\ntime.sleep(600)\n")]);
  expect(verdict.total).toBe(0);
  expect(verdict.tests.map(({ status }) => status)).toContain("failed");
  // No sandbox is made for a file whose time was used up by those before it.
  expect(verdict.sandboxIds.length).toBeLessThan(paths.length);
  expect(verdict.tests.at(-1)).toMatchObject({ status: "timeout", detail: expect.stringContaining("used up") });
});

test("values of the grading seed are new for each seed, and equal for equal seeds", async () => {
  const echo = `${SERVER}each(lambda link: link.sendall(OK + b"Content-Length: 1\\r\\n\\r\\n7"))`;
  const probe = { ...GET, expect: { status: 200, json: [{ pointer: "", equals: "{{int lucky 0 9}}" }] } };
  const passed: boolean[] = [];
  for (let seed = 0n; seed < 6n; seed += 1n) {
    const verdict = await rig.grade(task([probe]), [file("/app/service.py", echo)], { gradingSeed: seed });
    passed.push(verdict.total === 1);
  }
  expect(passed).toContain(false);
  const [first, again] = [await graded([probe], echo), await graded([probe], echo)];
  expect(first.total).toBe(again.total);
});

test.each<[string, (path: string) => string]>([
  ["nothing", () => ""],
  ["a link to another file", (path) => `import os; os.symlink("/etc/passwd", "${path}")`],
  ["a FIFO", (path) => `import os; os.mkfifo("${path}")`],
  ["a folder", (path) => `import os; os.mkdir("${path}")`],
  ["junk", (path) => `open("${path}", "wb").write(b"SQLite format 3\\0" + b"x" * 9000)`],
  [
    "a view of the table's name",
    (path) => `import sqlite3; sqlite3.connect("${path}").execute("CREATE VIEW items AS SELECT 1 AS n")`,
  ],
])("a service that leaves %s for its database fails the test that asks it", async (_name, leave) => {
  const service = `${leave("/app/other.db")}\n${STORE}`;
  const query = { database: "/app/other.db", sql: "SELECT n FROM items", tables: ["items"] };
  const probes = [GET, { name: "asks", query, expect: { rows: [[1]] } }];
  expect(await statuses(probes, service)).toEqual({ it: "passed", asks: "failed" });
});

test("the product reaches neither the prober nor what is expected", async () => {
  const spy = `
import os
found, seen = [], 0
for pid in range(1, 2000):
    if pid == os.getpid(): continue
    try: os.kill(pid, 9); found.append(b"killed")
    except ProcessLookupError: continue
    except PermissionError: seen += 1
    for name in ("environ", "mem", "fd/3", "fd/4"):
        try: open(f"/proc/{pid}/{name}", "rb"); found.append(name.encode())
        except OSError: pass
if os.path.exists("/tests/unit"): found.append(b"tests")
${SERVER}
body = b" ".join(found) or b"nothing" * (seen > 0)
each(lambda link: link.sendall(OK + b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body))`;
  expect(await statuses([{ ...GET, expect: { status: 200, body: "nothing" } }], spy)).toEqual({ it: "passed" });
});

test.each<[string, unknown, string]>([
  ["no JSON", "{", "tests/unit/store.http.json of test/hidden is no JSON"],
  ["no probe", [], "probes: [] is empty; write at least one probe"],
  ["an unknown field", [{ ...GET, retry: 1 }], "retry"],
  ["no path", [{ ...GET, request: { path: "items" } }], 'probes.0.request.path: "items" is no path; write one such as'],
  [
    "no status",
    [{ ...GET, expect: { status: "ok" } }],
    'probes.0.expect.status: "ok" is no status; write one such as 200',
  ],
  ["a name twice", [GET, GET], 'probes.1.name: "it" stands twice'],
  ["two bodies", [{ ...GET, request: { path: "/", body: "", json: 1 } }], "has both body and json"],
  [
    "a keyword of a schema that is not served",
    [{ ...GET, expect: { status: 200, json: [{ pointer: "", schema: { pattern: "(a+)+" } }] } }],
    'expect.json.0.schema: {"pattern":"(a+)+"} is refused (Unrecognized key: "pattern")',
  ],
  [
    "a placeholder nobody knows",
    [{ ...GET, request: { path: "/{{uuid}}" } }],
    "holds {{uuid}}; write {{int NAME MIN MAX}}",
  ],
  [
    "a query without rows",
    [{ name: "it", query: { database: "/app/d", sql: "SELECT 1" }, expect: {} }],
    "probes.0.expect.rows",
  ],
  [
    "a service that is not declared",
    JSON.stringify({ service: "api", probes: [GET] }),
    'service: "api" is no service of task.toml (web)',
  ],
])("a probe file with %s is refused with its file, field and remedy", async (_name, probes, said) => {
  await expect(graded(probes)).rejects.toMatchObject({ code: "task_invalid", message: expect.stringContaining(said) });
});

test("a task without services is told to declare one", async () => {
  const left: readonly FileContent[] = [];
  await expect(rig.grade(task([GET], {}, []), left)).rejects.toMatchObject({
    code: "task_invalid",
    message: expect.stringContaining("[[sandlot.services]]"),
  });
});
