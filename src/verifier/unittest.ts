/** The `unittest` template: Python's own test files, `unit/test_mean.py::TestMean.test_empty`. */
import type { Template, TemplateParts } from "./template.ts";
import { testFilesTemplate } from "./test-files.ts";

/** The `unittest` template. */
export function unittestTemplate(parts: TemplateParts): Template {
  return testFilesTemplate(
    {
      testFile: /(?:^|\/)test_[^/]+\.py$/,
      child: "unittest_child",
      programs: ["unittest_child.py", "child_guard.py", "sandlot_subject.py"],
    },
    parts,
  );
}
