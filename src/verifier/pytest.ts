/** The `pytest` template: `unit/test_mean.py::TestMean::test_empty`, with a pytest of the image that only we configure. */
import type { Template, TemplateParts } from "./template.ts";
import { testFilesTemplate } from "./test-files.ts";

/** Throws `task_invalid` where the image of the task has no pytest. */
export function pytestTemplate(parts: TemplateParts): Template {
  return testFilesTemplate(
    {
      testFile: /(?:^|\/)test_[^/]+\.py$/,
      child: "pytest_child",
      programs: ["pytest_child.py", "child_guard.py", "sandlot_subject.py"],
    },
    parts,
  );
}
