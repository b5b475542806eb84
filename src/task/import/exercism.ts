/**
 * Exercism-style Python exercises: a text, a stub, tests by case, and an example solution in the `.meta` folder. Tests
 * keep their words and call the product through a stand-in; exercises whose tests need objects of the product's own
 * classes are skipped, since only plain data crosses to the tests.
 */
import { join } from "node:path";
import { type Imported, type ImportedTask, type Importer, type ImportNote, slugOf } from "./import-contract.ts";
import { pythonTask, writeCommand } from "./python-task.ts";
import { isFolder, namesIn, requiredText, textIfThere } from "./read-source.ts";

interface Exercise {
  readonly name: string;
  readonly module: string;
  readonly text: string;
  readonly stub: string;
  readonly tests: string;
  readonly example: string;
}

export const exercism: Importer = {
  format: "exercism",
  title: "an Exercism-style Python exercise, or a folder of them",
  detects: (path) => exercisesOf(path).length > 0,
  read: async (path, { licence }): Promise<Imported> => {
    const read = exercisesOf(path).map((folder) => ({ folder, exercise: exerciseOf(folder) }));
    return {
      tasks: read.flatMap(({ exercise }) => (typeof exercise === "string" ? [] : [taskOf(exercise, licence)])),
      skipped: read.flatMap(({ folder, exercise }) =>
        typeof exercise === "string" ? [{ name: nameOf(folder), line: null, reason: exercise }] : [],
      ),
    };
  },
};

/** The folder itself or those in it that have a `.meta/config.json`. */
function exercisesOf(path: string): readonly string[] {
  const isExercise = (folder: string): boolean => textIfThere(join(folder, ".meta/config.json")) !== null;
  if (isExercise(path)) return [path];
  return namesIn(path)
    .map((name) => join(path, name))
    .filter((folder) => isFolder(folder) && isExercise(folder));
}

function nameOf(folder: string): string {
  return folder.split("/").filter(Boolean).at(-1) ?? "exercise";
}

/** The exercise, or one sentence why it becomes no task. */
function exerciseOf(folder: string): Exercise | string {
  const files = filesOf(requiredText(join(folder, ".meta/config.json"), "an exercise"));
  const [solution] = files?.solution ?? [];
  const [test] = files?.test ?? [];
  const [example] = files?.example ?? files?.exemplar ?? [];
  if (solution === undefined || test === undefined || example === undefined) {
    return "Its .meta/config.json names no solution, test and example file.";
  }
  if (!solution.endsWith(".py")) return `It is written for ${solution}; only Python exercises are carried.`;
  const parts = [solution, test, example].map((name) => textIfThere(join(folder, name)));
  const [stub = null, tests = null, right = null] = parts;
  const text = [".docs/introduction.md", ".docs/instructions.md", ".docs/instructions.append.md"]
    .map((name) => textIfThere(join(folder, name)))
    .filter((part) => part !== null)
    .join("\n");
  if (stub === null || tests === null || right === null || text === "") return "One of its files is missing.";
  const module = solution.replace(/^.*\//, "").slice(0, -3);
  const ownClass = importedNames(tests, module).find((name) => /^[A-Z]/.test(name) && !/^[A-Z0-9_]+$/.test(name));
  if (ownClass !== undefined) return `Its tests use objects of its class ${ownClass}, which do not cross to the tests.`;
  if (!/^class \w+\(.*TestCase\)/m.test(tests)) return "Its tests are no unittest classes.";
  return { name: nameOf(folder), module, text, stub, tests, example: right };
}

interface ConfigFiles {
  readonly solution?: readonly string[];
  readonly test?: readonly string[];
  readonly example?: readonly string[];
  readonly exemplar?: readonly string[];
}

function filesOf(text: string): ConfigFiles | null {
  try {
    return (JSON.parse(text) as { readonly files?: ConfigFiles }).files ?? null;
  } catch {
    return null;
  }
}

function importedNames(tests: string, module: string): readonly string[] {
  const match = new RegExp(`^from ${module} import (\\([^)]*\\)|.*)$`, "m").exec(tests);
  return (match?.[1] ?? "")
    .replaceAll(/[()\s]/g, " ")
    .split(/[ ,]+/)
    .filter(Boolean);
}

function taskOf(exercise: Exercise, licence: string | null): ImportedTask {
  const { name, module, text, stub, tests, example } = exercise;
  const drawn = pythonTask({
    slug: slugOf(name),
    family: "imported-exercism",
    description: `Solve the exercise ${name} in Python.`,
    keywords: ["python", "exercise", "benchmark-text"],
    metadata: { origin: "exercism", ...(licence === null ? {} : { licence }) },
    source: `exercism/${name}`,
    module,
    instruction: `${text.trimEnd()}\n\nWrite the solution into \`/app/${module}.py\`. Only that file is graded.\n`,
    environment: { [`${module}.py`]: stub },
    visible: {},
    tests: { [`unit/test_${module}.py`]: portable(tests, module) },
    tiers: [{ name: "unit" }],
    solution: example,
    wrong: {
      stub: { solve: "true", rewardMax: 0.99, failsTier: "unit" },
      nothing: {
        solve: writeCommand(`/app/${module}.py`, "def __getattr__(name):\n    return lambda *args, **kwargs: None\n"),
        rewardMax: 0.99,
        failsTier: "unit",
      },
    },
    timeoutSec: 900,
  });
  const notes: ImportNote[] = [
    { kind: "mapped", field: "tests", line: null, text: "each case is a test of the tier unit" },
    {
      kind: "defaulted",
      field: "hidden tests",
      line: null,
      text: "the tests of exercises are public; a model may have seen them",
    },
  ];
  return { drawn, notes };
}

/** The same tests against the stand-in: its import instead of the product's, no start of their own. */
function portable(tests: string, module: string): string {
  return tests
    .replaceAll(new RegExp(`^from ${module} import`, "gm"), `from support.${module} import`)
    .replaceAll(new RegExp(`^import ${module}$`, "gm"), `from support import ${module}`)
    .replace(/^if __name__ == .*$[\s\S]*/m, "");
}
