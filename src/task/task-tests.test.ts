import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GOOD_FOLDER, withFolder } from "./folder-fixture-support.ts";
import { unittestNames } from "./python-tests.ts";
import { readTaskFolder, writeManifest } from "./read-folder.ts";
import { derivedManifest } from "./task-tests.ts";

test("test ids are read from the text: methods of test classes, nothing nested, nothing in comments", () => {
  const text = `import unittest

def test_alone():
    pass

class Helper:
    def test_not_a_case(self):
        pass

class TestMean(unittest.TestCase):
    """Doc."""

    def setUp(self):
        def test_inner():
            pass

    def test_empty(self):
        def test_nested():
            pass

    # def test_commented(self):
    async def test_later(self):
        pass

class Edges(unittest.TestCase):
    def test_one(
        self,
    ):
        pass

if __name__ == "__main__":
    unittest.main()
`;
  expect(unittestNames(text)).toEqual([
    { name: "TestMean.test_empty", line: 17 },
    { name: "TestMean.test_later", line: 22 },
    { name: "Edges.test_one", line: 26 },
  ]);
});

test("the manifest is in order of path, and helpers have no ids", () => {
  const text = "class TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n";
  const sources = ["unit/test_b.py", "support/help.py", "boundary/deep/test_a.py"].map((path) => ({ path, text }));
  const tier = {
    weight: 1,
    gate: false,
    threshold: 1,
    requires: [],
    visibility: "hidden",
    runner: "unittest",
  } as const;
  const tiers = ["unit", "boundary"].map((name) => ({ ...tier, name }));
  expect(derivedManifest(sources, tiers)).toEqual([
    { id: "boundary/deep/test_a.py::TestA.test_a", tier: "boundary" },
    { id: "unit/test_b.py::TestA.test_a", tier: "unit" },
  ]);
});

test("a written manifest is one the reader accepts, and writing it twice changes nothing", async () => {
  const more = `${String(GOOD_FOLDER["tests/unit/test_out.py"])}\n    def test_more(self):\n        self.assertTrue(True)\n`;
  await withFolder({ "tests/manifest.json": null, "tests/unit/test_out.py": more }, async (folder) => {
    const written = await writeManifest(folder);
    const first = await readFile(join(folder, "tests/manifest.json"), "utf8");
    expect(written.map(({ id }) => id)).toEqual([
      "boundary/test_out.py::TestOut.test_no_line_end",
      "unit/test_out.py::TestOut.test_text",
      "unit/test_out.py::TestOut.test_more",
    ]);
    const task = await readTaskFolder(folder);
    expect(task.verifier.kind === "tests" && task.verifier.manifest).toEqual(written);
    await writeManifest(folder);
    expect(await readFile(join(folder, "tests/manifest.json"), "utf8")).toBe(first);
  });
});
