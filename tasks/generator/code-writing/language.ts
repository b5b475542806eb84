/** The two languages that modules are written in: what differs in files, visible examples and hidden tests. */
import type { DraftFiles } from "../../../src/task/draft.ts";
import type { Subject } from "./subject.ts";

interface Language {
  readonly title: string;
  readonly suffix: string;
  readonly program: string;
  readonly exports: string;
  readonly visibleFile: string;
  readonly visibleCommand: string;
  readonly ids: {
    readonly plain: string;
    readonly edge: string;
    readonly random: string;
    option(name: string): string;
  };
  constant(name: string, value: string): string;
  visible(subject: Subject, path: string): string;
  tests(subject: Subject, path: string, reference: string): DraftFiles;
  examplesOnly(subject: Subject): string;
  noResult(subject: Subject): string;
}

const python: Language = {
  title: "Python 3",
  suffix: "py",
  program: "python3",
  exports: "defines",
  visibleFile: "test_examples.py",
  visibleCommand: "python3 -m unittest discover -s /visible",
  ids: {
    plain: "unit/test_plain.py::TestPlain.test_plain",
    edge: "boundary/test_rules.py::TestRules.test_at_the_edge",
    random: "boundary/test_rules.py::TestRules.test_all_together",
    option: (name) => `boundary/test_rules.py::TestRules.test_${name.toLowerCase()}`,
  },
  constant: (name, value) => `${name} = ${value}`,
  visible: ({ entry, plain, results }, path) => `"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    ${plain},
    ${results},
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "${path}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.${entry}(*arguments), expected)
`,
  tests: ({ entry, plain, results, options, edge, draw }, path, reference) => ({
    "support/reference.py": `"""What is right, and random arguments."""\n\n${reference}\n\n${draw}`,
    "unit/test_plain.py": `"""Plain cases, which no reading of a rule changes."""

import unittest

from sandlot_subject import subject


class TestPlain(unittest.TestCase):
    def test_plain(self):
        for arguments, expected in zip(${plain}, ${results}):
            self.assertEqual(subject.call("${path}:${entry}", arguments), expected, arguments)
`,
    "boundary/test_rules.py": `"""Every rule alone, and all together on fresh arguments."""

import copy
import unittest

from sandlot_subject import random, subject
from support import reference


class TestRules(unittest.TestCase):
    def assert_right(self, arguments):
        expected = reference.${entry}(*copy.deepcopy(arguments))
        self.assertEqual(subject.call("${path}:${entry}", arguments), expected, arguments)
${options
  .map(
    ({ name, probes }) => `
    def test_${name.toLowerCase()}(self):
        for arguments in ${probes}:
            self.assert_right(arguments)
`,
  )
  .join("")}
    def test_at_the_edge(self):
        for arguments in ${edge.probes}:
            self.assert_right(arguments)

    def test_all_together(self):
        r = random("arguments")
        for _ in range(60):
            self.assert_right(reference.draw(r))
`,
  }),
  examplesOnly: ({ entry, plain, results }) =>
    `KNOWN = list(zip(${plain}, ${results}))\n\n\ndef ${entry}(*given):\n    return next((result for known, result in KNOWN if known == list(given)), "?")`,
  noResult: ({ entry }) => `def ${entry}(*given):\n    return "?"`,
};

const javascript: Language = {
  title: "JavaScript",
  suffix: "mjs",
  program: "node",
  exports: "exports",
  visibleFile: "examples.test.mjs",
  visibleCommand: "node --test /visible/examples.test.mjs",
  ids: {
    plain: "unit/plain.test.mjs::plain",
    edge: "boundary/rules.test.mjs::edge",
    random: "boundary/rules.test.mjs::all together",
    option: (name) => `boundary/rules.test.mjs::${titleOf(name)}`,
  },
  constant: (name, value) => `const ${name} = ${value};`,
  visible: ({ entry, plain, results }, path) => `// Plain examples.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ${entry} } from "${path}";

const results = ${results};
for (const [index, given] of ${plain}.entries()) {
  test(\`example \${index + 1}\`, () => assert.deepEqual(${entry}(...given), results[index]));
}
`,
  tests: ({ entry, plain, results, options, edge, draw }, path, reference) => ({
    "support/reference.mjs": `// What is right, and random arguments.\n${reference}\n${draw}`,
    "unit/plain.test.mjs": `// Plain cases, which no reading of a rule changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { subject } from "sandlot-subject";

test("plain", () => {
  const results = ${results};
  for (const [index, given] of ${plain}.entries()) {
    assert.deepEqual(subject.call("${path}:${entry}", given), results[index]);
  }
});
`,
    "boundary/rules.test.mjs": `// Every rule alone, and all together on fresh arguments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { random, subject } from "sandlot-subject";
import { draw, ${entry} } from "../support/reference.mjs";

const assertRight = (given) =>
  assert.deepEqual(subject.call("${path}:${entry}", given), ${entry}(...structuredClone(given)), JSON.stringify(given));
${options.map(({ name, probes }) => `\ntest("${titleOf(name)}", () => {\n  for (const given of ${probes}) assertRight(given);\n});\n`).join("")}
test("edge", () => {
  for (const given of ${edge.probes}) assertRight(given);
});

test("all together", () => {
  const next = random("arguments");
  for (let count = 0; count < 60; count += 1) assertRight(draw(next));
});
`,
  }),
  examplesOnly: ({ entry, plain, results }) =>
    `const results = ${results};\nconst known = ${plain}.map((given) => JSON.stringify(given));\nexport const ${entry} = (...given) => results[known.indexOf(JSON.stringify(given))] ?? "?";`,
  noResult: ({ entry }) => `export const ${entry} = () => "?";`,
};

function titleOf(option: string): string {
  return option.toLowerCase().replaceAll("_", " ");
}

export const LANGUAGES: Readonly<Record<Subject["language"], Language>> = { python, javascript };
