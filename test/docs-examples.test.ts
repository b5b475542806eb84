/**
 * The examples of docs/reference/tasks.md and grading.md, taken out of the documents and run as they stand. A fence whose
 * first line names a file is that file of a task; what an example leaves out is written here.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, expect, test } from "vitest";
import { writeManifests } from "../src/app.ts";
import { checkAll } from "../src/app-check.ts";
import { readScriptFile } from "../src/policy/script-file.ts";
import { recipeSchema } from "../src/run/recipe.ts";
import { readTaskFolder } from "../src/task/read-folder.ts";

const TIMEOUT_MS = 600_000;

const tops: string[] = [];

afterEach(async () => {
  for (const top of tops.splice(0)) await rm(top, { recursive: true, force: true });
});

interface Example {
  readonly file: string;
  readonly text: string;
}

async function examples(document: string): Promise<readonly Example[]> {
  const text = await readFile(join("docs/reference", document), "utf8");
  return [...text.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)].map(([, file = "", body = ""]) => ({ file, text: body }));
}

/** The one example of that file which holds `mark`. */
async function example(file: string, mark = ""): Promise<Example> {
  const found = (await examples("grading.md")).filter((one) => one.file === file && one.text.includes(mark));
  expect(found).toHaveLength(1);
  return found[0] ?? { file, text: "" };
}

async function folderOf(name: string, files: readonly Example[]): Promise<string> {
  const top = await mkdtemp(join(tmpdir(), "sandlot-docs-"));
  tops.push(top);
  for (const { file, text } of files) {
    const path = join(top, name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return join(top, name);
}

/** What an example must hold; the rest of the profile asks for more than one has room for. */
const ONLY = [
  ...["folder-valid", "oracle-passes", "nop-fails", "wrong-rejected", "test-manifest", "tests-assert"],
  ...["instruction-form", "no-solution-text", "verifier-independent"],
];

/** Writes the manifest, checks the task once, and says what did not pass, with what was seen. */
async function faultsOf(folder: string) {
  await writeManifests([folder]);
  const signal = new AbortController().signal;
  const [report] = await checkAll([folder], { profile: "ci", only: ONLY, signal });
  const faults = (report?.checks ?? []).filter(
    ({ id, status }) => ONLY.includes(id) && status !== "pass" && status !== "skip",
  );
  return { report, faults: faults.map(({ id, evidence }) => `${id}: ${evidence}`) };
}

/** A task around examples of one runner: `solve` makes what it grades, and two ways do not. */
function around(artifact: string, solve: string, toml: string, given: readonly Example[]): readonly Example[] {
  const scripts = (root: string, script: string, rewardMax = 0.9): readonly Example[] => [
    { file: `${root}/solve.sh`, text: script },
    ...(root.startsWith("wrong") ? [{ file: `${root}/expect.toml`, text: `reward_max = ${rewardMax}\n` }] : []),
  ];
  return [
    {
      file: "task.toml",
      text: `schema_version = "1.4"\nartifacts = [${artifact}]\n\n[task]\nname = "docs/example"\n\n[environment]\nworkdir = "/app"\nmemory_mb = 256\n\n${toml}`,
    },
    { file: "instruction.md", text: "Make what the documents of this project ask for, below `/app`.\n" },
    { file: "environment/image.toml", text: 'base = "host"\n\n[[files]]\nsource = "app"\ntarget = "/app"\n' },
    { file: "environment/setup.sh", text: "chown -R 1000:1000 /app\n" },
    { file: "environment/app/README", text: "empty\n" },
    ...scripts("solution", solve),
    ...scripts("wrong/nothing", "true\n"),
    ...scripts("wrong/other-file", "echo other > /app/other\n"),
    ...given,
  ];
}

const UNIT = '[sandlot]\nfamily = "docs"\n\n[[sandlot.tiers]]\nname = "unit"\n\n';

function written(path: string, text: string): string {
  return `cat > ${path} <<'END'\n${text}END\n`;
}

test(
  "the task that tasks.md writes from nothing is valid",
  async () => {
    const files = (await examples("tasks.md")).filter(({ file }) => file !== "cheat.json");
    expect(files.map(({ file }) => file)).toContain("tests/boundary/test_edges.py");
    const { report, faults } = await faultsOf(await folderOf("count-words", files));
    expect(faults).toEqual([]);
    expect(report?.key).toBe("example/count-words");
  },
  TIMEOUT_MS,
);

test("the JSON script of tasks.md is one that evaluate takes", async () => {
  const files = (await examples("tasks.md")).filter(({ file }) => file === "cheat.json");
  const script = await readScriptFile(join(await folderOf("scripts", files), "cheat.json"));
  expect(script.commands).toHaveLength(2);
  expect(script.files).toMatchObject([{ path: "/tmp/plant.py", mode: 0o644 }]);
});

test(
  "the pytest example of grading.md holds for a right program",
  async () => {
    const cart =
      'import sys\n\n\ndef total(prices):\n    return sum(int(price) for price in prices)\n\n\nif __name__ == "__main__":\n    print(total(sys.argv[1:]))\n';
    const given = [await example("tests/unit/test_total.py")];
    const task = around(
      '"/app/cart.py"',
      written("/app/cart.py", cart),
      UNIT.replace('"unit"', '"unit"\nrunner = "pytest"'),
      given,
    );
    expect((await faultsOf(await folderOf("cart", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the node-test example of grading.md holds for a right program",
  async () => {
    const cart =
      'export function total(prices) {\n  if (prices.some((price) => typeof price !== "number")) throw new RangeError("no number");\n  return prices.reduce((sum, price) => sum + price, 0);\n}\n';
    const given = [await example("tests/unit/total.test.mjs")];
    const task = around('"/app/cart.mjs"', written("/app/cart.mjs", cart), UNIT, given);
    expect((await faultsOf(await folderOf("cart", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the shell example of grading.md, with its build tier, holds for a right program",
  async () => {
    const sum =
      '#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {\n  long sum = 0;\n  for (int at = 1; at < argc; at++) {\n    char *end;\n    sum += strtol(argv[at], &end, 10);\n    if (*end != 0) return 2;\n  }\n  printf("%ld\\n", sum);\n  return 0;\n}\n';
    const given = [await example("tests/build/test_compile.sh"), await example("tests/unit/test_sum.sh")];
    const solve = `${written("/app/sum.c", sum)}echo 'total 3' > /app/report.txt\n`;
    const toml = `${UNIT}[[sandlot.tiers]]\nname = "build"\nweight = 0\n`;
    const task = around('"/app/sum.c", "/app/report.txt"', solve, toml, given);
    expect((await faultsOf(await folderOf("sum", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the sql example of grading.md holds for a right query",
  async () => {
    const query = "SELECT name FROM customer ORDER BY name;\n";
    const given = [
      await example("tests/unit/top.sql.json"),
      { file: "tests/support/schema.sql", text: "CREATE TABLE customer (name text);\n" },
      { file: "tests/support/top.sql", text: query },
      { file: "tests/support/small.sql", text: "INSERT INTO customer VALUES ('Bo'), ('Ada');\n" },
      { file: "tests/support/ties.sql", text: "INSERT INTO customer VALUES ('Bo'), ('Bo');\n" },
      { file: "tests/support/empty.sql", text: "-- No rows.\n" },
    ];
    const task = around('"/app/top.sql"', written("/app/top.sql", query), UNIT, given);
    expect((await faultsOf(await folderOf("top", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

const SERVICE = `import json, sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer
kept = sqlite3.connect("/app/shop.db")
kept.execute("CREATE TABLE IF NOT EXISTS item (name, price)")
class Handler(BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.answer(200, {"ok": True})
    def do_POST(self):
        item = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kept.execute("INSERT INTO item VALUES (?, ?)", (item["name"], item["price"]))
        kept.commit()
        self.answer(201, item)
    def log_message(self, *words):
        pass
HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
`;

test(
  "the http example of grading.md holds for a right service, with the database that it keeps",
  async () => {
    const { text } = await example("task.toml", "sandlot.services");
    const given = [await example("tests/unit/items.http.json")];
    const task = around('"/app/service.py"', written("/app/service.py", SERVICE), `${UNIT}${text}`, given);
    expect((await faultsOf(await folderOf("shop", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the performance example of grading.md gives all to what runs like its reference",
  async () => {
    const fast = "def total(values):\n    return sum(values)\n";
    const slow = "def total(values):\n    return max(sum(values) for value in values)\n";
    const given = [
      await example("tests/performance/performance.json"),
      await example("tests/performance/workload.py"),
      { file: "tests/performance/reference/app/tally.py", text: fast },
      { file: "tests/performance/baseline/app/tally.py", text: slow },
      { file: "wrong/slow/solve.sh", text: written("/app/tally.py", slow) },
      { file: "wrong/slow/expect.toml", text: "reward_max = 0\n" },
    ];
    // A wide band: other work on the machine must not make two equal ones differ.
    const toml = '[sandlot]\nfamily = "docs"\n\n[[sandlot.tiers]]\nname = "performance"\nnoise = 0.5\n';
    const task = around('"/app/tally.py"', written("/app/tally.py", fast), toml, given);
    expect((await faultsOf(await folderOf("tally", task))).faults).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the milestones of grading.md are reached, all of them, and pay their cap where no test passes",
  async () => {
    const { text } = await example("task.toml", "sandlot.milestones");
    const reach = `${written("/app/server.py", SERVICE)}cd /app
nohup python3 /app/server.py > /dev/null 2>&1 &
for tried in $(seq 100); do
  python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health')" && break
  sleep 0.1
done
python3 -c "import urllib.request; urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:8080/items', data=b'{\\"name\\": \\"a\\", \\"price\\": 1}'))"
echo '{"state": "done"}' > /app/report.json
`;
    const given = [
      { file: "environment/app/wip", text: "work\n" },
      { file: "tests/unit/test_done.sh", text: "check done /usr/bin/test -f /artifacts/app/done\n" },
      { file: "wrong/milestones-alone/solve.sh", text: `${reach}rm /app/wip\n` },
      { file: "wrong/milestones-alone/expect.toml", text: "reward_max = 0.3\n" },
      { file: "wrong/all-but-one/solve.sh", text: reach },
      { file: "wrong/all-but-one/expect.toml", text: "reward_max = 0.25\n" },
    ];
    const toml = `${text.replace("[sandlot]\n", '[sandlot]\nfamily = "docs"\n')}\n[[sandlot.tiers]]\nname = "unit"\n`;
    const { report, faults } = await faultsOf(
      await folderOf("milestones", around('"/app/done"', "touch /app/done\n", toml, given)),
    );
    expect(faults).toEqual([]);
    const seen = report?.checks.find(({ id }) => id === "wrong-rejected")?.evidence;
    expect(seen).toContain("milestones-alone earned 0.3 of");
    expect(seen).toContain("all-but-one earned 0.25 of");
  },
  TIMEOUT_MS,
);

test("the judge of grading.md is read, and its recipe names who is asked", async () => {
  const { text } = await example("task.toml", "sandlot.judge");
  const given = [{ file: "tests/unit/test_done.sh", text: "check done /usr/bin/test -f /artifacts/app/done\n" }];
  const folder = await folderOf("judge", around('"/app/done"', "touch /app/done\n", `${UNIT}${text}`, given));
  await writeManifests([folder]);
  expect((await readTaskFolder(folder)).judge).toMatchObject({ share: 0.2, items: [{ name: "names-the-cause" }] });
  const recipe = await example("recipe");
  expect(recipeSchema.parse(parse(recipe.text)).judge).toEqual({
    model: "judge-large",
    endpoint: "http://127.0.0.1:8000/v1",
    keyVariable: "JUDGE_KEY",
  });
});
