/**
 * Writes a task folder from its parts, so that generators and importers lay tasks out alike: instruction, environment,
 * visible and hidden tests, oracle, alternatives and wrong solutions with what they may earn at most.
 */
import { stringify } from "smol-toml";
import type { DrawnFolder, FolderFile } from "../core/task-folder.ts";

/** A text, bytes, or a text that is a program. Texts end with a line end; one is added where it is missing. */
export type DraftFile = string | Uint8Array | { readonly program: string };

/** Files by their path below the folder that the field names. */
export type DraftFiles = Readonly<Record<string, DraftFile>>;

/** A script of commands, and files beside it. */
export interface DraftSolution {
  /** The text of `solve.sh`. */
  readonly solve: string;
  readonly files?: DraftFiles;
}

export interface DraftWrong extends DraftSolution {
  /** Highest reward it may earn; below 1. */
  readonly rewardMax: number;
  /** The tier it must fail. */
  readonly failsTier: string;
}

export interface Draft {
  readonly slug: string;
  /** Tables of `task.toml`; `schema_version` is added. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly instruction: string;
  /** Table of `environment/image.toml`. */
  readonly image: Readonly<Record<string, unknown>>;
  /** Text of `environment/setup.sh`, run once as root. */
  readonly setup?: string;
  readonly environment?: DraftFiles;
  readonly visible?: DraftFiles;
  readonly tests: DraftFiles;
  readonly solution: DraftSolution;
  /** Other right ways, by kebab-case name. */
  readonly alternatives: Readonly<Record<string, DraftSolution>>;
  /** Deliberately wrong ones, by kebab-case name. */
  readonly wrong: Readonly<Record<string, DraftWrong>>;
}

const encoder = new TextEncoder();

/** The folder of a draft, for `FolderGenerator.draw`. */
export function drawnFolder(draft: Draft): DrawnFolder {
  const files: FolderFile[] = [
    fileOf("instruction.md", draft.instruction),
    fileOf("environment/image.toml", stringify(draft.image)),
    ...(draft.setup === undefined ? [] : [fileOf("environment/setup.sh", draft.setup)]),
    ...below("environment", draft.environment),
    ...below("visible", draft.visible),
    ...below("tests", draft.tests),
    ...solutionFiles("solution", draft.solution),
    ...Object.entries(draft.alternatives).flatMap(([name, solution]) =>
      solutionFiles(`solution/alternative/${name}`, solution),
    ),
    ...Object.entries(draft.wrong).flatMap(([name, solution]) => [
      ...solutionFiles(`wrong/${name}`, solution),
      fileOf(`wrong/${name}/expect.toml`, `reward_max = ${solution.rewardMax}\nfails_tier = "${solution.failsTier}"`),
    ]),
  ];
  return { slug: draft.slug, config: { schema_version: "1.4", ...draft.config }, files };
}

function solutionFiles(folder: string, { solve, files }: DraftSolution): readonly FolderFile[] {
  return [fileOf(`${folder}/solve.sh`, { program: solve }), ...below(folder, files)];
}

function below(folder: string, files: DraftFiles = {}): readonly FolderFile[] {
  return Object.entries(files).map(([path, content]) => fileOf(`${folder}/${path}`, content));
}

function fileOf(path: string, content: DraftFile): FolderFile {
  if (content instanceof Uint8Array) return { path, bytes: content, isExecutable: false };
  const text = typeof content === "string" ? content : content.program;
  return {
    path,
    bytes: encoder.encode(text.endsWith("\n") ? text : `${text}\n`),
    isExecutable: typeof content !== "string",
  };
}
