/** Python for the code repair families: unittest, programs that are asked in a process of their own, and edits. */

import { fillers } from "./fillers.ts";
import type { Language, Suite } from "./language.ts";
import { PYTHON_FILLERS } from "./python-fillers.ts";

const ASK = `"""Runs a piece of Python beside the graded package and gives back what it shows, as JSON."""
import json
import textwrap

from sandlot_subject import subject

HEAD = """import json, sys
given = json.load(sys.stdin)
def show(value):
    print(json.dumps(value))
"""


def ask(script, given=None):
    ran = subject.run(["python3", "-c", HEAD + textwrap.dedent(script)], stdin=json.dumps(given).encode())
    if ran.exit_code != 0:
        raise AssertionError("the program failed: " + ran.stderr.decode(errors="replace")[-600:])
    lines = ran.stdout.decode(errors="replace").splitlines()
    if not lines:
        raise AssertionError("the program said nothing")
    return json.loads(lines[-1])
`;

const indented = (tests: string): string =>
  tests
    .trim()
    .split("\n")
    .map((line) => (line === "" ? "" : `    ${line}`))
    .join("\n");

const className = (name: string): string =>
  `Test${name
    .split("-")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")}`;

const classes = (suites: readonly Suite[]): string =>
  suites.map(({ name, tests }) => `class ${className(name)}(unittest.TestCase):\n${indented(tests)}\n`).join("\n\n");

export const PYTHON: Language = {
  name: "code-repair-python",
  keyword: "python",
  title: "Python",
  programs: ["python3"],
  visibleFile: "test_report.py",
  visibleCommand: "python3 -m unittest discover -s /visible",
  ownCommand: "cd /app && python3 -m unittest discover -s tests",
  support: { "support/ask.py": ASK },
  testFile: (name) => `test_${name}.py`,
  visibleText: (suites) =>
    `"""What was reported, as tests."""\nimport sys\nimport unittest\n\nsys.path.insert(0, "/app")\n\n\n${classes(suites)}\n\nif __name__ == "__main__":\n    unittest.main()\n`,
  hiddenText: (suites) =>
    `import unittest\n\nfrom sandlot_subject import random\nfrom support.ask import ask\n\n\n${classes(suites)}`,
  ownText: (tests) => `import unittest\n\n\n${classes([{ name: "package", tests }])}`,
  testNames: (tests) => [...tests.matchAll(/^def (test_\w+)\(/gm)].map(([, name = ""]) => name),
  testId: (suite, test) => `${className(suite)}.${test}`,
  editProgram: (edits) =>
    `python3 - <<'PYTHON'\nfrom pathlib import Path\n\nedits = [\n${edits.map(({ file, from, to }) => `    (${JSON.stringify(file)}, ${JSON.stringify(from)}, ${JSON.stringify(to)}),`).join("\n")}\n]\nfor name, old, new in edits:\n    path = Path(name)\n    text = path.read_text(encoding="utf-8")\n    assert text.count(old) == 1, (name, old)\n    path.write_text(text.replace(old, new), encoding="utf-8")\nPYTHON`,
  testsOnly: (packageName) =>
    `#!/bin/bash\n# Changes what is tested, not what is wrong.\nmkdir -p /app/${packageName}/tests\nprintf 'import unittest\\n\\n\\nclass TestReport(unittest.TestCase):\\n    def test_all(self):\\n        self.assertTrue(True)\\n' > /app/${packageName}/tests/test_report.py`,
  around: (packageName, count, random) => ({
    ".gitignore": "__pycache__/\n*.pyc\n",
    ...fillers(PYTHON_FILLERS, count, random, (name) => ({
      source: `${packageName}/${name}.py`,
      test: `tests/test_${name}.py`,
      module: `${packageName}.${name}`,
    })),
  }),
};
