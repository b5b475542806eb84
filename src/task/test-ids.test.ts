import { expect, test } from "vitest";
import { runnersOf, testIds } from "./test-ids.ts";

test.each([
  [
    "unittest",
    "unit/test_a.py",
    "class TestA(unittest.TestCase):\n    def test_b(self):\n        pass\n",
    ["unit/test_a.py::TestA.test_b"],
  ],
  [
    "pytest",
    "unit/test_a.py",
    '"""def test_quoted():"""\n@pytest.mark.parametrize("x", [1])\ndef test_f(x):\n    def test_inner():\n        pass\n\nclass TestC:\n    def test_m(self):\n        pass\nclass Other:\n    def test_no(self):\n        pass\nasync def test_g():\n    pass\n',
    ["unit/test_a.py::test_f", "unit/test_a.py::TestC::test_m", "unit/test_a.py::test_g"],
  ],
  [
    "node-test",
    "unit/a.test.mjs",
    'test("adds", () => {\n  t.test("inner", f);\n});\ndescribe("list", () => {\n  it("is empty", f);\n  describe(`deep`, () => {\n    test("one", f);\n  });\n  it("is full", f);\n});\ntest("last", f);\n',
    ["adds", "list > is empty", "list > deep > one", "list > is full", "last"].map(
      (name) => `unit/a.test.mjs::${name}`,
    ),
  ],
  [
    "shell",
    "unit/test_a.sh",
    "# check commented /bin/true\ncheck made /bin/true\nif test -e /x; then\n  check other /bin/true\nelse\n  check other /bin/false\nfi\n",
    ["unit/test_a.sh::made", "unit/test_a.sh::other"],
  ],
  ["sql", "unit/a.sql.json", "{}", ["unit/a.sql.json"]],
  ["http", "unit/a.http.json", '{"probes": [{"name": "lists"}, {}]}', ["unit/a.http.json::lists"]],
  ["http", "unit/a.http.json", "no JSON", []],
  ["reward-file", "unit/test.sh", "exit 0", ["unit/test.sh"]],
  ["performance", "performance/workload.py", "", ["performance/workload.py"]],
] as const)("the tests of %s in %s are found without running them", (runner, path, text, ids) => {
  expect(testIds(runner, path, text).map(({ id }) => id)).toEqual(ids);
});

test("a tier gets its runner from the names of its files, and data gives none", () => {
  expect(runnersOf(["unit/a.test.mjs", "unit/data.json"])).toEqual(["node-test"]);
  expect(runnersOf(["unit/test_a.py", "unit/test_b.sh"])).toEqual(["unittest", "shell"]);
  expect(runnersOf(["unit/help.py", "test_top.py"])).toEqual([]);
});
