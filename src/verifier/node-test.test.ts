import { afterAll, expect, test } from "vitest";
import { describeUnless, MISSING } from "../../test/support/unless.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const HEAD = `import assert from "node:assert/strict";
import { after, describe, it, test } from "node:test";
import { readFileSync, writeFileSync } from "node:fs";
import { artifacts, gradingSeed, subject, SubjectError, SubjectEnded, SubjectTimeout } from "sandlot-subject";
`;
const MEAN = "export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;\n";

function task(text: string, names: readonly string[], change = {}) {
  const made = hiddenTask("node-test", { path: "stats.test.mjs", text: HEAD + text, names }, change);
  return { ...made, resources: { ...made.resources, memoryBytes: 512 * 1024 * 1024 } };
}

async function graded(
  text: string,
  names: readonly string[],
  left: string | readonly FileContent[] = MEAN,
  change = {},
) {
  const files = typeof left === "string" ? [file("/app/stats.mjs", left)] : left;
  return await rig.grade(task(text, names, change), files);
}

async function statuses(...args: Parameters<typeof graded>) {
  const { tests } = await graded(...args);
  return Object.fromEntries(tests.map(({ id, status }) => [id.split("::")[1], status]));
}

const CALL = 'test("call", () => assert.equal(subject.call("stats.mjs:mean", [[1, 2, 3]]), 2));\n';

describeUnless(MISSING.node)("with Node in the image", () => {
  test("hidden tests call the agent's module in another sandbox than their own", async () => {
    const text = `${CALL}
describe("suite", () => {
  it("inner", async () => assert.equal(await subject.call("/app/stats.mjs:mean", [[4]]), 4));
  describe("deeper", () => { it("one", () => {}); it("fails", () => assert.equal(1, 2)); });
});
test("with parts", async (t) => { await t.test("part", () => {}); });
test("artifact", () => assert.match(readFileSync(artifacts + "/app/stats.mjs", "utf8"), /mean/));
test("apart", () => assert.throws(() => readFileSync("/app/stats.mjs"), { code: "ERR_ACCESS_DENIED" }));
test("seed", () => assert.equal(gradingSeed, 5n));
test("run", () => assert.equal(subject.run(["/usr/bin/id", "-u"]).stdout.toString(), "1002\\n"));
`;
    const names = [
      "call",
      "suite > inner",
      "suite > deeper > one",
      "suite > deeper > fails",
      "with parts",
      "artifact",
      "apart",
      "seed",
      "run",
    ];
    const verdict = await graded(text, names);
    expect(verdict.tests.map(({ id, status, detail }) => [id.split("::")[1], status, detail])).toEqual(
      names.map((name) =>
        name.endsWith("fails") ? [name, "failed", expect.stringContaining("1 !== 2")] : [name, "passed", ""],
      ),
    );
    expect(verdict.extraTests).toEqual([]);
  });

  test("skipped, to-do, crashed, exiting, hanging and failing tests have not passed", async () => {
    const text = `
test("fine", () => {});
test("skip", { skip: "no" }, () => {});
test("skips itself", (t) => t.skip("no"));
test("todo", { todo: true }, () => {});
test("fails", () => assert.fail("no"));
test("raises", () => { throw new TypeError("x"); });
test("callback", (t, done) => setTimeout(() => done(new Error("late")), 5));
test("subtest fails", async (t) => { await t.test("part", () => assert.fail("no")); });
test("times out", { timeout: 50 }, () => new Promise((resolve) => setTimeout(resolve, 400)));
describe("broken", () => { after(() => { throw new Error("hook"); }); it("inner", () => {}); });
`;
    const names = [...text.matchAll(/^test\("([^"]+)"/gm)].map((match) => match[1] ?? "");
    expect(await statuses(text, [...names, "broken > inner", "absent"])).toEqual({
      fine: "passed",
      skip: "skipped",
      "skips itself": "skipped",
      todo: "failed",
      fails: "failed",
      raises: "error",
      callback: "error",
      "subtest fails": "failed",
      "times out": "timeout",
      "broken > inner": "error",
      absent: "missing",
    });
  });

  test.each([
    ["ends its process with code 0", "process.exit(0);", "error"],
    ["crashes", "process.abort();", "error"],
    ["hangs", "for (;;);", "timeout"],
  ])("a test that %s is no pass, nor are those of its file after it", async (_name, line, status) => {
    const limits = { ...task("", []).limits, gradeMs: 8_000 };
    const text = `test("first", () => {});\ntest("bad", () => { ${line} });\ntest("after", () => {});\n`;
    const found = await statuses(text, ["first", "bad", "after"], MEAN, { limits });
    expect(found).toMatchObject({ bad: status, after: status });
  });

  test("an entry of the manifest may leave out the suites a test stands in", async () => {
    const text = 'describe("cart", () => { it("adds", () => {}); it("fails", () => assert.fail()); });\n';
    expect(await statuses(text, ["adds", "fails"])).toEqual({ adds: "passed", fails: "failed" });
  });

  test.each([
    ["is no JavaScript", "const = ;", /tests\/unit\/stats\.test\.mjs cannot be loaded \(SyntaxError/],
    [
      "imports what is nowhere",
      'import "nothing-of-this-name";',
      /stats\.test\.mjs cannot be loaded .*nothing-of-this-name/,
    ],
    ["names two tests alike", 'test("a", () => {});\ntest("a", () => {});', /stats\.test\.mjs names two tests "a"/],
    [
      "reads what the contract does not collect",
      'test("a", () => readFileSync(artifacts + "/app/report.json"));',
      /stats\.test\.mjs reads \/app\/report\.json, which the contract .*task\.toml/,
    ],
  ])("a hidden file that %s is a verifier fault that names it", async (_name, text, message) => {
    const contract = {
      state: "declared",
      files: [{ path: "/app/stats.mjs", required: true }],
      bytesMax: 9_999,
      entriesMax: 9,
    };
    const found = graded(text, ["a"], MEAN, { contract });
    await expect(found).rejects.toMatchObject({ code: "verifier_crashed", message: expect.stringMatching(message) });
  });
});
