/** JavaScript for the code repair families: node:test, functions that are run in a process beside the package, and edits. */
import { fillers } from "./fillers.ts";
import { JAVASCRIPT_FILLERS } from "./javascript-fillers.ts";
import type { Language, Suite } from "./language.ts";

const ASK = `/** Runs a function beside the graded package and gives back what it returned, as JSON. */
import assert from "node:assert/strict";
import { subject } from "sandlot-subject";

/**
 * Of a module, a function that runs \`work(lib, given)\` in a new process of the subject: \`lib\` is the module, \`work\` is
 * handed over as text, and so sees nothing of the test around it.
 */
export function askOf(module) {
  return (work, given = null) => {
    const program = [
      'import { readFileSync } from "node:fs";',
      'const given = JSON.parse(readFileSync(0, "utf8"));',
      "const lib = await import(" + JSON.stringify(module) + ");",
      "const answer = await (" + work + ")(lib, given);",
      "console.log(JSON.stringify([answer]));",
    ].join("\\n");
    const ran = subject.run(["node", "--input-type=module", "-e", program], { stdin: JSON.stringify(given) });
    const failure = ran.timedOut ? "it did not end in time" : ran.stderr.toString().slice(-600);
    assert.equal(ran.exitCode, 0, "the program failed: " + failure);
    const [answer] = JSON.parse(ran.stdout.toString().trimEnd().split("\\n").at(-1));
    return answer;
  };
}

/** Of random numbers from 0 up to 1, a function that gives whole numbers from low to high, both included. */
export function wholes(next) {
  return (low, high) => low + Math.floor(next() * (high - low + 1));
}
`;

const indented = (tests: string): string =>
  tests
    .trim()
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");

const suitesText = (suites: readonly Suite[]): string =>
  suites.map(({ name, tests }) => `describe("${name}", () => {\n${indented(tests)}\n});\n`).join("\n");

const HEAD = `import assert from "node:assert/strict";\nimport { describe, test } from "node:test";\n`;

const camelCase = (text: string): string =>
  text.replaceAll(/\b([a-z]+)_([a-z])([a-z]*)\b/g, (_, first: string, initial: string, rest: string) => {
    return `${first}${initial.toUpperCase()}${rest}`;
  });

export const JAVASCRIPT: Language = {
  name: "code-repair-javascript",
  keyword: "javascript",
  title: "JavaScript",
  programs: ["node"],
  visibleFile: "report.test.mjs",
  visibleCommand: "node --test /visible/report.test.mjs",
  ownCommand: "cd /app && node --test",
  support: { "support/ask.mjs": ASK },
  testFile: (name) => `${name}.test.mjs`,
  visibleText: (suites) =>
    `// What was reported, as tests.\n${HEAD}import * as lib from "/app/PKG/index.js";\n\n${suitesText(suites)}`,
  hiddenText: (suites) =>
    `${HEAD}import { random } from "sandlot-subject";\nimport { askOf, wholes } from "../support/ask.mjs";\n\nconst ask = askOf("/app/PKG/index.js");\n\n${suitesText(suites)}`,
  ownText: (tests) => `${HEAD}import * as lib from "../PKG/index.js";\n\n${suitesText([{ name: "package", tests }])}`,
  testNames: (tests) => [...tests.matchAll(/^test\("([^"]+)"/gm)].map(([, name = ""]) => name),
  testId: (suite, test) => `${suite} > ${test}`,
  editProgram: (edits) =>
    `node --input-type=module - <<'NODE'\nimport { readFileSync, writeFileSync } from "node:fs";\n\nconst edits = [\n${edits.map(({ file, from, to }) => `  [${JSON.stringify(file)}, ${JSON.stringify(from)}, ${JSON.stringify(to)}],`).join("\n")}\n];\nfor (const [name, from, to] of edits) {\n  const parts = readFileSync(name, "utf8").split(from);\n  if (parts.length !== 2) throw new Error(name + " does not hold once: " + from);\n  writeFileSync(name, parts.join(to));\n}\nNODE`,
  testsOnly: (packageName) =>
    `#!/bin/bash\n# Changes what is tested, not what is wrong.\nprintf 'import { test } from "node:test";\\n\\ntest("all is well", () => {});\\n' > /app/${packageName}/report.test.mjs`,
  around: (packageName, count, random) => ({
    ".gitignore": "node_modules/\n*.log\n",
    "package.json": `${JSON.stringify({ private: true, type: "module", workspaces: [packageName], scripts: { test: "node --test" } }, null, 2)}\n`,
    [`${packageName}/package.json`]: `${JSON.stringify({ name: packageName, version: "1.4.0", type: "module", main: "./index.js" }, null, 2)}\n`,
    ...camelCased(
      fillers(JAVASCRIPT_FILLERS, count, random, (name) => ({
        source: `${packageName}/${name.replace("_", "-")}.js`,
        test: `tests/${name.replace("_", "-")}.test.mjs`,
        module: `../${packageName}/${name.replace("_", "-")}.js`,
      })),
    ),
  }),
};

/** The same files with the names in them as JavaScript writes names. */
function camelCased(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, camelCase(text)]));
}
