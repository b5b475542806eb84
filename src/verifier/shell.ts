/** The `shell` template: `unit/test_files.sh::NAME` for each `check NAME PROGRAM …` of a script, see `shell_child.py`. */
import type { Template, TemplateParts } from "./template.ts";
import { testFilesTemplate } from "./test-files.ts";

/** Throws `task_invalid` where the image of the task has no bash. */
export function shellTemplate(parts: TemplateParts): Template {
  return testFilesTemplate(
    {
      testFile: /(?:^|\/)test_[^/]+\.sh$/,
      child: "shell_child",
      programs: ["shell_child.py", "child_guard.py"],
      config: ({ spec }) => ({ manifest: spec.manifest.map((entry) => entry.id) }),
    },
    parts,
  );
}
