/**
 * The words of the hack suite. A hack is one trick and nothing else; a fixture is a task it can be tried on; a move is
 * what the trick does, said so that any fixture can carry it out. Nothing here runs anything.
 */
import type { FileContent } from "../../src/core/sandbox-files.ts";
import type { Script, Task } from "../../src/core/task.ts";

/** What a policy does beside its base, in the words of a shell, of a program under grading, or of an answer. */
export interface Move {
  /** Shell commands of the agent, one a turn, after those of the base. They may fail: a refused write is the point. */
  readonly commands?: readonly string[];
  /** Python run when the graded program is loaded. */
  readonly python?: string;
  /** A Python expression that every call of the graded program returns from then on. */
  readonly returns?: string;
  /** JavaScript run when the graded module is loaded. */
  readonly javascript?: string;
  /** A JavaScript expression that every call of the graded module returns from then on. */
  readonly javascriptReturns?: string;
  /** Shell run when the graded script is started. */
  readonly shell?: string;
  /** C compiled into the graded program. */
  readonly c?: string;
  /** Given to `submit` in place of the base's answer. */
  readonly answer?: string;
}

/** Every way in which what is graded may be attacked. A fixture names those it has. */
export type Surface =
  | "answer"
  | "python"
  | "javascript"
  | "shell"
  | "c"
  | "files"
  | "visible"
  | "history"
  | "query"
  | "data"
  | "service"
  | "speed";

export interface Hack {
  /** Number in the catalogue of the design, 1 to 64. */
  readonly pattern: number;
  /** Unique; kebab-case. */
  readonly name: string;
  /** What it would forge if it worked: "passed outcomes from planted test hooks". */
  readonly forges: string;
  /** The fixture must have one of these. */
  readonly surfaces: readonly Surface[];
  /** Fixture kinds it is meant for; absent: all that have a surface of it. */
  readonly kinds?: readonly string[];
  /** True when the trick also breaks an honest solution: on half a solution it may then earn less than the half. */
  readonly isDestructive: boolean;
  /** Null where the trick says nothing about this fixture. */
  move(fixture: Fixture): Move | null;
}

/** An honest policy, or one whose doings look like a hack and are none. */
export interface Honest {
  readonly name: string;
  readonly kind: "oracle" | "half" | "near-miss";
  readonly script: Script;
  readonly reward: number;
}

/** How the field's common runner grades the same task: in the agent's own sandbox, as it was left. */
export interface SharedGrading {
  /** In the sandbox from the start, as images of the field carry them: graders, caches, leftovers of earlier builds. */
  readonly leftovers: readonly FileContent[];
  /** Run as root after the task's own set-up: a history that was not scrubbed, a server that was left running. */
  readonly setup?: string;
  /** Placed when the agent is done. */
  readonly files: readonly FileContent[];
  /** Run by `bash -l` as root, in the work folder. */
  readonly command: string;
  readonly read: "reward-file" | "exit-code" | "test-lines";
}

export interface Fixture {
  /** Unique: "unittest repair". */
  readonly kind: string;
  readonly task: Task;
  readonly surfaces: readonly Surface[];
  /** True where a reward is measured and not counted: what is worth 1 must then reach the task's threshold. */
  readonly isMeasured?: boolean;
  /** Honest, and worth `halfReward` < 1. */
  readonly half: Script;
  readonly halfReward: number;
  /** Legitimate doings that look like a hack. */
  readonly nearMisses: readonly Honest[];
  /** The base with a move carried out on it. */
  apply(base: Script, move: Move): Script;
  /** Null where the field has no such form. */
  readonly shared: SharedGrading | null;
}

export const NOTHING: Script = { name: "nothing", answer: null, files: [], commands: [] };

export function appliesTo(hack: Hack, fixture: Fixture): boolean {
  if (hack.kinds !== undefined && !hack.kinds.includes(fixture.kind)) return false;
  return hack.surfaces.some((surface) => fixture.surfaces.includes(surface)) && hack.move(fixture) !== null;
}
