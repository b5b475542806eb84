/**
 * The task that most imported Python problems become: one module to write or mend, tests that call it in the subject
 * sandbox through a stand-in module of the same name, so that tests written for a local import need no change.
 */

import type { DrawnFolder } from "../../core/task-folder.ts";
import { type DraftFiles, type DraftWrong, drawnFolder } from "../draft.ts";

export interface PythonTask {
  readonly slug: string;
  readonly family: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly source: string;
  readonly instruction: string;
  /** Name of the module, without `.py`; it lies in `/app`. */
  readonly module: string;
  /** What `/app` holds at first, by file name. */
  readonly environment: DraftFiles;
  readonly visible: DraftFiles;
  /** Below `tests/`; `support/` and the stand-in are added. */
  readonly tests: DraftFiles;
  readonly tiers: readonly Readonly<Record<string, unknown>>[];
  /** Text of the module that is right. */
  readonly solution: string;
  readonly wrong: Readonly<Record<string, DraftWrong>>;
  readonly timeoutSec: number;
}

/** `cat` of a text into a file, quoted so that the shell reads nothing in it. */
export function writeCommand(path: string, text: string): string {
  let mark = "END";
  while (text.split("\n").includes(mark)) mark += "_";
  return `cat > ${path} <<'${mark}'\n${text.endsWith("\n") ? text : `${text}\n`}${mark}\n`;
}

export function pythonTask(task: PythonTask): DrawnFolder {
  const file = `/app/${task.module}.py`;
  return drawnFolder({
    slug: task.slug,
    config: {
      artifacts: [file],
      source: task.source,
      task: { description: task.description, keywords: [...task.keywords] },
      metadata: task.metadata,
      agent: { timeout_sec: task.timeoutSec },
      verifier: { timeout_sec: 120 },
      environment: { workdir: "/app", memory_mb: 512 },
      sandlot: { family: task.family, tiers: task.tiers },
    },
    instruction: task.instruction,
    image: { base: "host", programs: ["python3", "bash"], files: [{ source: "app", target: "/app" }] },
    setup: "chown -R 1000:1000 /app\n",
    environment: Object.fromEntries(Object.entries(task.environment).map(([name, text]) => [`app/${name}`, text])),
    visible: task.visible,
    tests: { ...task.tests, [`support/${task.module}.py`]: standIn(file), "support/__init__.py": "" },
    solution: { solve: writeCommand(file, task.solution) },
    alternatives: {},
    wrong: task.wrong,
  });
}

/**
 * A module whose every name is a function of the product's, called in the subject sandbox. What it raises is raised
 * here as the built-in exception of that name, which is what tests of such problems expect.
 */
function standIn(file: string): string {
  return `"""Stands in for the product's module: each name is its function, called in the sandbox of the product."""
import builtins

from sandlot_subject import SubjectError, subject


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def call(*args, **kwargs):
        try:
            return subject.call("${file}:" + name, list(args), dict(kwargs))
        except SubjectError as error:
            kind = getattr(builtins, error.type_name, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                text = str(error)
                raise kind(text.removeprefix(error.type_name + ": ")) from error
            raise

    call.__name__ = name
    return call
`;
}
