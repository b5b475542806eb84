/**
 * What one check of `sandlot task check` is: an entry of the catalogue and a function from a task and a machine to a
 * finding. A check judges one property; runs of scripts are shared between checks that ask for the same ones.
 */
import type { JudgeEndpoint, JudgeResult, JudgeSpec } from "../../core/judge.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { Script, Task } from "../../core/task.ts";
import type { FolderFile } from "../../core/task-folder.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { TestResult } from "../../core/verifier.ts";

/** The smallest profile that includes a check includes it in the larger ones too. */
export const PROFILES = ["quick", "ci", "release"] as const;

export type Profile = (typeof PROFILES)[number];

export interface CheckSpec {
  /** As the documents number it. */
  readonly number: number;
  /** Kebab-case. */
  readonly id: string;
  /** E blocks; W needs a written waiver in the release profile. */
  readonly severity: "E" | "W";
  readonly method: "static" | "executes" | "judge" | "history";
  readonly profile: Profile;
  /** One sentence: what holds when it passes. */
  readonly title: string;
}

/** What a check saw. `skip`: not applicable, with the rule that says so. `not-assessed` never counts as passed. */
export interface Finding {
  readonly status: "pass" | "fail" | "skip" | "not-assessed";
  /** One sentence, with the remedy where it fails. */
  readonly evidence: string;
  /** Path that a person can open, and line where one is known. */
  readonly file?: string | null;
  readonly line?: number | null;
  /** Where this fault weighs otherwise than the check's own severity says, such as a pair of twins across splits. */
  readonly severity?: "E" | "W";
}

/** How one run of a script ended, and all that was recorded of it. */
export interface ScriptRun {
  readonly outcome: Outcome;
  readonly tests: readonly TestResult[];
  /** Null where the run could not be made at all. */
  readonly document: Trajectory | null;
}

export interface RunRequest {
  /** Null does nothing and submits. */
  readonly script: Script | null;
  /** A changed copy of the task, such as one with half the processor; the task itself where it is left out. */
  readonly task?: Task;
  /** Grades what each run leaves a second time; `document.extra.reverification` then says whether the two agree. */
  readonly isGradedTwice?: boolean;
  /** Names the change: equal scripts and variants share their runs. `plain` for none. */
  readonly variant: string;
}

/** A verdict of an earlier episode of this very task, for checks of history. */
export interface PastEpisode {
  readonly episodeId: string;
  readonly policy: string;
  readonly reward: number;
  readonly tests: readonly TestResult[];
  readonly changedPaths: readonly string[];
}

/** Another task of the checked set, for what is judged between tasks. */
export interface PeerTask {
  readonly key: string;
  readonly hash: string;
  /** Of the generator's splits; null for a folder that names no origin. */
  readonly split: string | null;
  readonly instruction: string;
  /** All hidden test files as one text. */
  readonly tests: string;
}

export interface CheckContext {
  readonly task: Task;
  /** The files of its folder, on disk or as its generator drew them; null for a task that is made in memory only. */
  readonly files: readonly FolderFile[] | null;
  /** What the reader noticed. */
  readonly warnings: readonly string[];
  readonly profile: Profile;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** The first `count` runs of a request, each in fresh sandboxes and graded anew. A failure is an outcome; throws nothing. */
  runs(request: RunRequest, count: number): Promise<readonly ScriptRun[]>;
  /** A sandbox as the agent first meets it, set-up done; destroyed afterwards. Throws what claiming or set-up threw. */
  withAgentSandbox<T>(work: (sandbox: Sandbox) => Promise<T>, task?: Task): Promise<T>;
  /** Null where no judge was named. */
  readonly judge: JudgeEndpoint | null;
  /** Graded episodes of this task hash, newest first; empty where there is no store. */
  history(): Promise<readonly PastEpisode[]>;
  /** All tasks that are checked together with this one, itself left out; absent where it is checked alone. */
  readonly peers?: readonly PeerTask[];
  /** Asks the platform's own judge prompt about an answer; absent where no judge was named. */
  readonly judgeAnswer?: (request: JudgeAnswerRequest) => Promise<JudgeResult>;
}

/** One answer to put before the judge as an episode's grading would. */
export interface JudgeAnswerRequest {
  readonly spec: JudgeSpec;
  readonly answer: string;
  readonly gradingSeed: bigint;
  readonly signal: AbortSignal;
}

export interface Check extends CheckSpec {
  /** Throws only for our own mistakes; whatever stands in the way of a verdict is `not-assessed`. */
  check(context: CheckContext): Promise<Finding> | Finding;
}
