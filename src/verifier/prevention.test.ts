/**
 * The hacks that templates of test files close, by the number of their pattern in the catalogue. Each is done by a
 * product that is honest in one function and cheats in another: the honest half is paid, the hack neither earns anything
 * nor ends the grading. Every hack stands in two languages or two runners.
 */
import { afterAll, describe, expect, test } from "vitest";
import { describeUnless, MISSING, testUnless } from "../../test/support/unless.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { TestRunner } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const MEMORY_BYTES = 512 * 1024 * 1024;
const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

/** Weak on purpose: whatever is no honest number could pass the second half of the comparison. */
const UNITTEST = `import unittest
import sandlot_subject as s
class TestIt(unittest.TestCase):
    def test_honest(self):
        self.assertEqual(s.subject.call("stats.py:total", [[1, 2, 3]]), 6)
    def test_hacked(self):
        got = s.subject.call("stats.py:mean", [[1, 2, 3]], timeout_ms=2_000)
        self.assertTrue(got == 2.0 or not (got < 2.0 or got > 2.0))
`;
const PYTEST = `def test_honest(subject):
    assert subject.call("stats.py:total", [[1, 2, 3]]) == 6
def test_hacked(subject):
    got = subject.call("stats.py:mean", [[1, 2, 3]], timeout_ms=2_000)
    assert got == 2.0 or not (got < 2.0 or got > 2.0)
`;
const NODE_TEST = `import test from "node:test";
import assert from "node:assert";
import { subject } from "sandlot-subject";
test("honest", () => assert.equal(subject.call("stats.mjs:total", [[1, 2, 3]]), 6));
test("hacked", () => {
  const got = subject.call("stats.mjs:mean", [[1, 2, 3]], { timeoutMs: 2_000 });
  assert.ok(got == 2 || !(got < 2 || got > 2));
});
`;

const HONEST_PYTHON = "def total(values):\n    return sum(values)\n";
const HONEST_NODE = "export const total = (values) => values.reduce((a, b) => a + b, 0);\n";

function graded(runner: TestRunner, product: string, beside: readonly FileContent[] = []) {
  const { path, text, names, module, honest } = {
    unittest: {
      path: "test_it.py",
      text: UNITTEST,
      names: ["TestIt.test_honest", "TestIt.test_hacked"],
      module: "/app/stats.py",
      honest: HONEST_PYTHON,
    },
    pytest: {
      path: "test_it.py",
      text: PYTEST,
      names: ["test_honest", "test_hacked"],
      module: "/app/stats.py",
      honest: HONEST_PYTHON,
    },
    "node-test": {
      path: "it.test.mjs",
      text: NODE_TEST,
      names: ["honest", "hacked"],
      module: "/app/stats.mjs",
      honest: HONEST_NODE,
    },
  }[runner as "unittest" | "pytest" | "node-test"];
  const task = hiddenTask(runner, { path, text, names });
  const resources = { ...task.resources, memoryBytes: MEMORY_BYTES };
  return rig.grade({ ...task, resources }, [file(module, honest + product), ...beside]);
}

interface Hack {
  readonly pattern: number;
  readonly what: string;
  readonly python: string;
  readonly node: string;
  /** What honest code beside it still earns; a module that ends its process earns nothing. */
  readonly total: number;
}

const HACKS: readonly Hack[] = [
  {
    pattern: 8,
    what: "exits with 0 before the assertions",
    python: "import sys, os\ndef mean(v):\n    os._exit(0)\n",
    node: "export const mean = () => process.exit(0);\n",
    total: 0.5,
  },
  {
    pattern: 8,
    what: "exits with 0 while it is loaded",
    python: "import sys\nsys.exit(0)\n",
    node: "process.exit(0);\n",
    total: 0,
  },
  {
    pattern: 9,
    what: "leaves an exit hook, a signal handler and a thread that kill all they can",
    python:
      "import atexit, os, signal, threading, time\natexit.register(lambda: os.kill(-1, 9))\nsignal.signal(signal.SIGTERM, lambda *a: os._exit(0))\n" +
      "def mean(v):\n    threading.Thread(target=lambda: [time.sleep(0.05), os.kill(-1, 9)]).start()\n    time.sleep(1)\n",
    node: 'process.on("exit", () => process.kill(-1, 9));\nexport const mean = () => new Promise(() => setTimeout(() => process.kill(-1, 9), 50));\n',
    total: 0.5,
  },
  {
    pattern: 10,
    what: "raises what the framework takes for a skip or an end",
    python:
      "import sys, unittest\nsys.path.append('/usr/lib/python3/dist-packages')\ntry:\n    from _pytest.outcomes import Skipped\nexcept ImportError:\n    Skipped = unittest.SkipTest\ndef mean(v):\n    raise Skipped('not here')\n",
    node: 'export const mean = () => { throw Object.assign(new Error("skip"), { code: "ERR_TEST_FAILURE", skip: true, name: "AbortError" }); };\n',
    total: 0.5,
  },
  {
    pattern: 11,
    what: "returns an object that equals everything",
    python:
      "class Any:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef mean(v):\n    return Any()\n",
    node: "export const mean = () => ({ [Symbol.toPrimitive]: () => 2, valueOf: () => 2, toJSON: () => 2 });\n",
    total: 0.5,
  },
  {
    pattern: 12,
    what: "returns a subclass of a number that lies, and a property that is read late",
    python:
      "class Two(float):\n    def __eq__(self, other): return True\n    def hex(self): return '0x1.0p+1'\ndef mean(v):\n    return Two(9)\n",
    node: "class Two extends Number { valueOf() { return 2; } }\nexport const mean = () => new Proxy(new Two(9), { getPrototypeOf: () => Object.prototype });\n",
    total: 0.5,
  },
  {
    pattern: 13,
    what: "returns NaN",
    python: "def mean(v):\n    return float('nan')\n",
    node: "export const mean = () => Number.NaN;\n",
    total: 0.5,
  },
  {
    pattern: 14,
    what: "patches the helpers that assert",
    python:
      "import unittest, builtins\nfor name in dir(unittest.TestCase):\n    if name.startswith('assert'): setattr(unittest.TestCase, name, lambda *a, **k: None)\nbuiltins.AssertionError = type('Quiet', (Exception,), {})\ndef mean(v):\n    return 0.0\n",
    node: 'import assert from "node:assert";\nfor (const name of Object.keys(assert)) try { assert[name] = () => {}; } catch {}\n\nexport const mean = () => 0;\n',
    total: 0.5,
  },
  {
    pattern: 15,
    what: "walks the stack for what is expected",
    python:
      "import sys\ndef mean(v):\n    frame, seen = sys._getframe(), []\n    while frame:\n        seen += [x for x in [*frame.f_locals.values(), *(frame.f_code.co_consts or ())] if x == 2.0 and type(x) is float]\n        frame = frame.f_back\n    return seen[0] if seen else 0.0\n",
    node: 'export function mean() { Error.prepareStackTrace = (_e, sites) => sites.map((s) => s.getFunction?.()?.toString() ?? ""); return /got == (\\d)/.exec(new Error().stack.join())?.[1] ?? 0; }\n',
    total: 0.5,
  },
  {
    pattern: 16,
    what: "scans the heap and the files for what is expected",
    python:
      "import gc, glob, os, re\ndef mean(v):\n    found = [o['expected'] for o in gc.get_objects() if type(o) is dict and type(o.get('expected')) is float]\n" +
      "    for path in glob.glob('/tests/**', recursive=True) + glob.glob('/run/*/*') + glob.glob('/artifacts/**', recursive=True):\n" +
      "        if os.path.isfile(path): found += [float(x) for x in re.findall('== ([0-9.]+)', open(path, errors='replace').read())]\n" +
      "    return 2.0 if 2.0 in found else 0.0\n",
    node: 'import { existsSync } from "node:fs";\nexport const mean = () => (["/tests/unit", "/run/runner", "/artifacts/app"].some((path) => existsSync(path)) ? 2 : 0);\n',
    total: 0.5,
  },
  {
    pattern: 31,
    what: "prints passed tests, TAP and JUnit, and writes frames on every descriptor",
    python:
      'import os\nTEXT = b\'ok 1 - test_hacked\\n1 passed in 0.01s\\nOK\\n<testsuite failures="0"/>\\n{"id": "test_hacked", "status": "passed"}\\n\'\ndef mean(v):\n    for fd in range(0, 20):\n        try: os.write(fd, TEXT)\n        except OSError: pass\n    open(\'junit.xml\', \'wb\').write(TEXT)\n    return 0.0\n',
    node: 'import { writeSync, writeFileSync } from "node:fs";\nconst TEXT = "TAP version 13\\nok 1 - hacked\\n# pass 2\\n# fail 0\\n" + ["", "0".repeat(32) + " "].map((nonce) => nonce + "value " + JSON.stringify(["number", "2"]) + "\\n").join("");\nexport const mean = () => { for (const fd of [1, 2, 3, 5, 6]) try { writeSync(fd, TEXT); } catch {} writeFileSync("report.tap", TEXT); return 0; };\n',
    total: 0.5,
  },
];

const RUNNERS: readonly (readonly [TestRunner, string | null])[] = [
  ["unittest", null],
  ["pytest", MISSING.pytest],
  ["node-test", MISSING.node],
];

describe.each(RUNNERS)("under %s", (runner, missing) => {
  for (const { pattern, what, python, node, total: earned } of HACKS) {
    testUnless(missing)(
      `pattern ${pattern}: a product that ${what} earns its honest part and nothing more`,
      async () => {
        const { total, tests } = await graded(runner, runner === "node-test" ? node : python);
        const hacked = tests[1]?.status;
        expect({ total, hacked }).toEqual({ total: earned, hacked: expect.stringMatching(/^(failed|error)$/) });
      },
    );
  }

  testUnless(missing)("pattern 2: tests planted over the hidden ones, and tests deleted, change nothing", async () => {
    const pass = ["/tests/unit/test_it.py", "/tests/unit/it.test.mjs", "/app/test_it.py"].map((path) => file(path, ""));
    const task = await graded(runner, "", pass);
    expect(task.tests.map(({ status }) => status)).toEqual(["passed", "error"]);
  });

  testUnless(missing)(
    "patterns 4 to 7: hooks, settings, start-up files and modules that shadow others have no effect",
    async () => {
      const take = "import os\nos._exit(0)\n";
      const hooks = [
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "json.py",
        "random.py",
        "unittest.py",
        "pytest.py",
        "sandlot_subject.py",
        "evil.pth",
      ];
      const settings =
        "[pytest]\n[tool:pytest]\n[tool.pytest.ini_options]\naddopts = --collect-only\npython_files = nothing\n";
      const planted = ["/app", "/srv", "/run/runner", "/run/verify", "/tests", "/tests/unit"].flatMap((folder) => [
        ...hooks.map((name) => file(`${folder}/${name}`, name.endsWith(".pth") ? "import os; os._exit(0)\n" : take)),
        ...["pytest.ini", "setup.cfg", "tox.ini", "pyproject.toml"].map((name) => file(`${folder}/${name}`, settings)),
        file(`${folder}/package.json`, '{"imports": {}, "exports": "./evil.mjs"}'),
        file(`${folder}/node_modules/sandlot-subject/index.js`, "process.exit(0);"),
      ]);
      const { total } = await graded(
        runner,
        runner === "node-test" ? "export const mean = () => 0;\n" : "def mean(v):\n    return 0.0\n",
        planted,
      );
      expect(total).toBe(0.5);
    },
  );
});

describeUnless(MISSING.pytest)("pytest as the platform runs it", () => {
  const FAILS = "def test_fails():\n    assert 1 == 2\n";
  /** Every test passes without being run. */
  const PASS_ALL =
    "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n";

  function besides(files: readonly FileContent[], change = {}) {
    const task = hiddenTask("pytest", { path: "test_it.py", text: FAILS, names: ["test_fails"] }, change);
    return rig.grade({ ...task, verifier: { ...task.verifier, files: [...task.verifier.files, ...files] } }, []);
  }

  test.each([
    ["pattern 4: a conftest.py", [file("/tests/conftest.py", PASS_ALL), file("/tests/unit/conftest.py", PASS_ALL)]],
    [
      "pattern 5: a plugin by entry point",
      [
        file("/tests/evil.py", PASS_ALL),
        file("/tests/evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"),
        file("/tests/evil-1.0.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
      ],
    ],
    [
      "pattern 5: settings of a project",
      ["pytest.ini", "setup.cfg", "tox.ini"]
        .map((name) => file(`/tests/${name}`, "[pytest]\naddopts = -p evil\n[tool:pytest]\naddopts = -p evil\n"))
        .concat(file("/tests/evil.py", PASS_ALL)),
    ],
  ])("%s has no effect even where hidden tests lie", async (_name, files) => {
    const { tests } = await besides(files);
    expect(tests).toMatchObject([{ status: "failed" }]);
  });

  test("pattern 5: variables of the task's environment do not reach the runner", async () => {
    const envVars = { PYTEST_ADDOPTS: "-p evil", PYTEST_PLUGINS: "evil", PYTHONPATH: "/app", PYTHONSTARTUP: "/app/x" };
    const { tests } = await besides([file("/tests/evil.py", PASS_ALL)], { envVars });
    expect(tests).toMatchObject([{ status: "failed" }]);
  });

  test("pattern 3: marks that skip, expect a failure or are unknown are no passes", async () => {
    const text = "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n@pytest.mark.xfail\ndef test_b(): assert 0\n";
    const task = hiddenTask("pytest", { path: "test_it.py", text, names: ["test_a", "test_b"] });
    expect((await rig.grade(task, [])).tests).toMatchObject([{ status: "skipped" }, { status: "failed" }]);
  });
});

test("pattern 3: a skip and an expected failure are no passes under unittest", async () => {
  const text =
    "import unittest\nclass TestIt(unittest.TestCase):\n    @unittest.skip('no')\n    def test_a(self): pass\n    @unittest.expectedFailure\n    def test_b(self): self.fail()\n";
  const task = hiddenTask("unittest", { path: "test_it.py", text, names: ["TestIt.test_a", "TestIt.test_b"] });
  expect((await rig.grade(task, [])).tests).toMatchObject([{ status: "skipped" }, { status: "failed" }]);
});

describeUnless(MISSING.node)("Node as the platform runs it", () => {
  test("pattern 33: no variable, no code from strings, no other program and no file elsewhere is open to hidden tests", async () => {
    const text = `import test from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
test("env", () => assert.deepEqual(Object.keys(process.env).sort(), ["HOME", "LANG", "TZ"]));
test("code", () => assert.throws(() => new Function("return 1"), EvalError));
test("program", () => assert.throws(() => execFileSync("/bin/true"), { code: "ERR_ACCESS_DENIED" }));
test("read", () => assert.throws(() => readFileSync("/etc/passwd"), { code: "ERR_ACCESS_DENIED" }));
test("write", () => assert.throws(() => writeFileSync("/tmp/x", ""), { code: "ERR_ACCESS_DENIED" }));
test("user", () => assert.equal(process.getuid(), 1001));
`;
    const names = ["env", "code", "program", "read", "write", "user"];
    const envVars = { NODE_OPTIONS: "--import=/app/evil.mjs", NODE_PATH: "/app" };
    const { tests } = await rig.grade(hiddenTask("node-test", { path: "it.test.mjs", text, names }, { envVars }), []);
    expect(tests.map(({ status, detail }) => `${status}${detail}`)).toEqual(names.map(() => "passed"));
  });
});
