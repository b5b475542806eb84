import { afterAll, expect, test } from "vitest";
import { describeUnless, MISSING } from "../../test/support/unless.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const HEAD = "import os, signal, pytest\nimport sandlot_subject as s\n";
const MEAN = "def mean(values):\n    return sum(values) / len(values)\n";

function task(text: string, names: readonly string[], change = {}) {
  return hiddenTask("pytest", { path: "test_stats.py", text: HEAD + text, names }, change);
}

async function statuses(
  text: string,
  names: readonly string[],
  left: string | readonly FileContent[] = MEAN,
  change = {},
) {
  const files = typeof left === "string" ? [file("/app/stats.py", left)] : left;
  const verdict = await rig.grade(task(text, names, change), files);
  return Object.fromEntries(verdict.tests.map(({ id, status }) => [id.split("::").slice(1).join("::"), status]));
}

const CALL = 'def test_call(subject):\n    assert subject.call("stats.py:mean", [[1, 2, 3]]) == 2.0\n';

describeUnless(MISSING.pytest)("with pytest in the image", () => {
  test("functions, classes, parameters and fixtures are run and reported by the ids pytest gives them", async () => {
    const text = `${CALL}
@pytest.fixture
def three():
    yield 3
@pytest.mark.parametrize("a, b", [(1, 1), (2, 3)])
def test_each(a, b):
    assert a == b
@pytest.mark.parametrize("word", ["a[1]", "b c"])
def test_words(word, three, tmp_path):
    (tmp_path / "x").write_text(word * three)
class TestClass:
    def test_artifact(self, artifacts):
        assert "def mean" in (artifacts / "app" / "stats.py").read_text()
    def test_apart(self):
        assert not os.path.exists("/app/stats.py") and os.getuid() == 1001
`;
    const names = [
      "test_call",
      "test_each[1-1]",
      "test_each[2-3]",
      "test_words",
      "TestClass::test_artifact",
      "TestClass::test_apart",
    ];
    expect(await statuses(text, names)).toEqual({
      test_call: "passed",
      "test_each[1-1]": "passed",
      "test_each[2-3]": "failed",
      test_words: "passed",
      "TestClass::test_artifact": "passed",
      "TestClass::test_apart": "passed",
    });
  });

  test("an entry of the manifest without parameters passes only when the test passes with all of them", async () => {
    const text = '@pytest.mark.parametrize("a", [1, 2, 3])\ndef test_each(a):\n    assert a != 2\n';
    expect(await statuses(text, ["test_each"])).toEqual({ test_each: "failed" });
  });

  test("skipped, expected to fail, crashed, hanging and erring tests have not passed", async () => {
    const text = `
def test_fine(): pass
def test_skip(): pytest.skip("no")
@pytest.mark.skipif(True, reason="no")
def test_skipif(): pass
@pytest.mark.xfail
def test_xfail(): assert False
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=False)
def test_loose_xpass(): pass
def test_fails(): pytest.fail("no")
def test_raises(): {}["x"]
def test_exit(artifacts): pytest.exit("all done", 0)
def test_hard_exit(artifacts): os._exit(0)
def test_crash(artifacts): os.kill(os.getpid(), signal.SIGSEGV)
def test_hang(artifacts):
    while True: pass
@pytest.fixture
def broken():
    yield
    raise ValueError("at the end")
def test_teardown(broken): pass
def test_importorskip(): pytest.importorskip("nothing_of_this_name")
`;
    const names = [...text.matchAll(/def (test_\w+)/g)].map((match) => match[1] ?? "");
    const limits = { ...task(text, names).limits, gradeMs: 16_000 };
    expect(await statuses(text, [...names, "test_absent"], MEAN, { limits })).toEqual({
      test_fine: "passed",
      test_skip: "skipped",
      test_skipif: "skipped",
      test_xfail: "failed",
      test_xpass: "failed",
      test_loose_xpass: "failed",
      test_fails: "failed",
      test_raises: "error",
      test_exit: "error",
      test_hard_exit: "error",
      test_crash: "error",
      test_hang: "timeout",
      test_teardown: "error",
      test_importorskip: "skipped",
      test_absent: "missing",
    });
  });
});
