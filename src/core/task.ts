/**
 * A task is an immutable problem: instruction, image, limits, verifier. Read from a folder or made by a generator, it
 * is the same record; the loop does not know which.
 */
import type { JudgeSpec } from "./judge.ts";
import type { MilestoneSpec } from "./milestone.ts";
import type { ImageReference, NetworkPolicy, SandboxLimits } from "./sandbox.ts";
import type { FileContent } from "./sandbox-files.ts";

/** Identity of a task. `hash` covers everything; `verifierHash` only what grades, so a verifier fix leaves `agentHash`. */
export interface TaskIdentity {
  /** `org/name`, unique in a task set. */
  readonly key: string;
  readonly hash: string;
  readonly agentHash: string;
  readonly verifierHash: string;
  /** Unit of data splits. */
  readonly family: string;
}

export interface TaskLimits {
  readonly turnsMax: number;
  /** Tokens the policy may sample over the episode. */
  readonly tokensMax: number;
  /** Wall clock of the agent phase. */
  readonly agentMs: number;
  /** One command. */
  readonly commandMs: number;
  /** One grading. */
  readonly gradeMs: number;
  /** Set-up + agent + grading + collection, whatever happens. */
  readonly episodeMs: number;
  /** What of one turn's output the policy is shown. */
  readonly outputBytesPerTurn: number;
}

/** What crosses from the agent's sandbox to grading, as data. */
export interface ArtifactContract {
  /** `answer`: only the text given to `submit`. `declared`: `files`. `workdir`: every regular file under the work folder. */
  readonly state: "answer" | "declared" | "workdir";
  readonly files: readonly ArtifactRule[];
  readonly bytesMax: number;
  readonly entriesMax: number;
  /** Shell commands run before the freeze, as the agent's user in the work folder, 60 s each; default none. */
  readonly collect?: readonly string[];
}

/** One path that crosses to grading, as data. */
export interface ArtifactRule {
  /** Absolute in the sandbox; a file, or a folder taken whole. */
  readonly path: string;
  readonly required: boolean;
  /** What the bytes must be; a file that is something else counts as not made. Default `file` or `tree`, unparsed. */
  readonly kind?: "file" | "tree" | "json" | "csv" | "sqlite" | "dump";
  /** Of this rule alone; beyond it the artifact counts as not made. */
  readonly bytesMax?: number;
  readonly entriesMax?: number;
}

/** Which template runs the tests of a tier; `performance` measures, the others decide test by test. */
export const TEST_RUNNERS = [
  "unittest",
  "pytest",
  "node-test",
  "shell",
  "sql",
  "http",
  "reward-file",
  "performance",
] as const;

export type TestRunner = (typeof TEST_RUNNERS)[number];

/** A performance tier: baseline b, reference o and subject x run interleaved on the same machine. */
export interface PerformanceRule {
  /** Runs of each; medians count. */
  readonly repeats: number;
  /** Half width of the band around 1 in which b/x counts as noise and earns 0. */
  readonly noise: number;
}

/** A named part of the tests: its weight, what it needs, and who runs it. */
export interface Tier {
  readonly name: string;
  /** >= 0; visible tiers count 0. */
  readonly weight: number;
  /** A gate below its threshold sets the whole score to 0. */
  readonly gate: boolean;
  /** A gate that also sets the final reward to 0, milestones included: damage, forbidden effects. */
  readonly veto?: boolean;
  /** Of a `tests` verifier; absent in others. */
  readonly runner?: TestRunner;
  readonly performance?: PerformanceRule;
  /** Of a `reward-file` tier: several keys without one named `reward` stand for their mean. Default false. */
  readonly isRewardMean?: boolean;
  readonly threshold: number;
  /** Tiers that must reach their threshold before this one earns anything. */
  readonly requires: readonly string[];
  readonly visibility: "hidden" | "visible";
}

/**
 * JSON-like plain data, compared by exact type and value. A whole number is an int, any other finite number a float,
 * and an object a dict with text keys. An object with one key says what JSON cannot carry: `{"$float": "inf"}` (or
 * `"2"`, `"nan"`), `{"$int": "…"}`, `{"$tuple": […]}`, `{"$set": […]}`, `{"$frozenset": […]}`, `{"$bytes": "hex"}`,
 * `{"$dict": [[key, value], …]}`.
 */
export type PlainData = unknown;

/**
 * How an answer is held against the expected one. `exact`: equal type and value. `numeric`: numbers anywhere in it may
 * differ by the larger of the two tolerances. `unordered`: a list as a multiset of its elements. `math`: texts that
 * are expressions of equal value, decided exactly.
 */
export type Comparison =
  | { readonly kind: "exact" }
  | { readonly kind: "numeric"; readonly absolute: number; readonly relative: number }
  | { readonly kind: "unordered" }
  | { readonly kind: "math" };

/** One hidden input and its answer. Neither is ever in the agent's sandbox; `expected` never enters any sandbox. */
export interface MatchCase {
  /** Unique in the task; names its tier first: `boundary/empty`. */
  readonly id: string;
  readonly tier: string;
  readonly args: readonly PlainData[];
  readonly expected: PlainData;
  /** Default `exact`. */
  readonly compare?: Comparison;
}

/** How the subject program of a `match` task is called. */
export interface MatchSubject {
  readonly language: "python";
  /**
   * `expression`: the answer is an expression over `parameters`. `function`: it defines `entry`. `module`: the artifact
   * `file` defines `entry`. `program`: the artifact `file` is run, the one argument is its standard input and what it
   * prints is the answer. `text`: the submitted text itself is compared and nothing runs.
   */
  readonly form: "expression" | "function" | "module" | "program" | "text";
  /** Absolute path of the artifact, for `module` and `program`. */
  readonly file?: string;
  readonly parameters: readonly string[];
  readonly entry: string;
  /** One call of one input. */
  readonly callMs: number;
}

/** The platform sends hidden inputs to a clean subject sandbox and compares the answers itself. */
export interface MatchVerifierSpec {
  readonly kind: "match";
  readonly tiers: readonly Tier[];
  readonly subject: MatchSubject;
  /** Pure: equal seeds give equal cases. */
  cases(gradingSeed: bigint): readonly MatchCase[];
}

/** How the program that an `http` tier probes is started in the subject sandbox, from the collected artifacts. */
export interface ServiceSpec {
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly envVars: Readonly<Record<string, string>>;
  /** Loopback port it must answer on before a probe is sent. */
  readonly port: number;
  readonly readyMs: number;
}

/**
 * Hidden tests of a folder task. Each tier names its runner; the files of a tier lie under `/tests/TIER/`, all others
 * (`/tests/support/` …) are shared.
 */
export interface TestsVerifierSpec {
  readonly kind: "tests";
  readonly tiers: readonly Tier[];
  /** Default none. */
  readonly services?: readonly ServiceSpec[];
  /** Of `reward-file` scripts, beside the task's own; default none. */
  readonly envVars?: Readonly<Record<string, string>>;
  /** Paths absolute in the verifier sandbox, under `/tests`. */
  readonly files: readonly FileContent[];
  /** Expected test ids with their tier: `unit/test_repair.py::TestMean.test_empty`. */
  readonly manifest: readonly { readonly id: string; readonly tier: string }[];
}

export type VerifierSpec = MatchVerifierSpec | TestsVerifierSpec;

/** A script the platform runs in place of a policy: the oracle, or a deliberately wrong solution. */
export interface Script {
  readonly name: string;
  /** The text given to `submit`; null where the state is the answer. */
  readonly answer: string | null;
  /** Files placed in the agent's sandbox first, such as `/solution/solve.sh`. */
  readonly files: readonly FileContent[];
  /** Shell commands run in order, one a turn. */
  readonly commands: readonly string[];
}

export interface WrongSolution {
  readonly script: Script;
  /** Highest reward it may earn; below 1. */
  readonly rewardMax: number;
  /** Tier it must fail, when stated. */
  readonly failsTier: string | null;
}

/** Something the instruction demands, and the hidden tests that hold it. */
export interface Requirement {
  /** Kebab-case, unique in the task. */
  readonly id: string;
  /** One sentence, as the instruction means it. */
  readonly text: string;
  readonly kind: "functional" | "boundary" | "performance";
  /** Ids of the manifest. */
  readonly tests: readonly string[];
}

/** How hard its author thinks it is; what was measured lies in the store. */
export interface Difficulty {
  /** 1 (a beginner's first try) to 5 (an expert's afternoon). */
  readonly level: number;
  readonly dials: Readonly<Record<string, number>>;
}

/** Where a generated task came from; the same three values rebuild it. */
export interface GeneratorReference {
  readonly name: string;
  readonly version: number;
  readonly seed: string;
  readonly dials: Readonly<Record<string, number>>;
}

/** A command that must end with 0 before the agent begins, and before its state is graded. */
export interface Healthcheck {
  /** Run as root, by a shell, in the work folder. */
  readonly command: string;
  readonly intervalMs: number;
  /** Of one try. */
  readonly timeoutMs: number;
  /** From the end of set-up, failures within it do not count. */
  readonly startPeriodMs: number;
  /** Between tries of the start period. */
  readonly startIntervalMs: number;
  /** Failures in a row that give it up. */
  readonly retries: number;
}

/** A server of the Model Context Protocol inside the sandbox; the agent is told of it. */
export type McpServer =
  | { readonly name: string; readonly transport: "stdio"; readonly argv: readonly string[] }
  | { readonly name: string; readonly transport: "sse" | "streamable-http"; readonly url: string };

export interface Task extends TaskIdentity {
  readonly description: string;
  /** All that the agent is told; the platform appends the limits. */
  readonly instruction: string;
  readonly image: ImageReference;
  readonly workdir: string;
  /** User of every agent command. */
  readonly agentUser: string;
  readonly envVars: Readonly<Record<string, string>>;
  readonly network: NetworkPolicy;
  /** What is left of the network once set-up is done; absent where all of it is. */
  readonly agentNetwork?: NetworkPolicy;
  /** Absent where set-up alone says that all is ready. */
  readonly healthcheck?: Healthcheck;
  /** Absent where there are none. */
  readonly mcpServers?: readonly McpServer[];
  /** Folder of the sandbox with skills for the agent; it is told of it. */
  readonly skillsFolder?: string;
  readonly resources: SandboxLimits;
  readonly limits: TaskLimits;
  /** Whether what is left is stated in each observation. */
  readonly isDeadlineShown: boolean;
  /** Files of the environment and the visible tests, placed in the agent's sandbox before the first turn. */
  readonly files: readonly FileContent[];
  /** Run once as root before the first turn, as `sh -c`; null when there is none. */
  readonly setup: string | null;
  readonly contract: ArtifactContract;
  readonly verifier: VerifierSpec;
  /** Observable steps on the way, paid as potential differences; absent when there are none. */
  readonly milestones?: MilestoneSpec;
  /** For what code cannot decide; absent when code decides alone. */
  readonly judge?: JudgeSpec;
  /** Absolute files and folders that the agent must leave alone: a change there is tier A and makes the outcome `cheating`. */
  readonly protectedPaths?: readonly string[];
  /** Reward at or above which the task counts as solved. */
  readonly threshold: number;
  /** `fresh`: new hidden inputs per group. A number pins them. */
  readonly gradingSeed: "fresh" | bigint;
  readonly oracle: Script;
  readonly alternatives: readonly Script[];
  readonly wrong: readonly WrongSolution[];
  readonly generator: GeneratorReference | null;
  /** What the instruction demands, each with its tests; absent where the author lists none. */
  readonly requirements?: readonly Requirement[];
  readonly difficulty?: Difficulty;
  /** Checks of severity W whose fault the author lets stand, each with a written reason; absent where there are none. */
  readonly waivers?: readonly { readonly check: string; readonly reason: string }[];
  /** What it is about, for people who look for it; absent where the author names none. */
  readonly keywords?: readonly string[];
  /** Folder the task was read from, relative to where it was asked for; null when generated. */
  readonly folder: string | null;
}

/** A demonstration for supervised training: what a policy should say to this task. Text, in the task's own words. */
export interface Demonstration {
  readonly instruction: string;
  readonly answer: string;
}

/** A part of the supply with one pass rate: one fixed task, or a generator with its dials set. */
export interface TaskCell {
  readonly id: string;
  readonly family: string;
  /** Empty for a fixed task. */
  readonly dials: Readonly<Record<string, number>>;
}

/** A seeded, unbounded supply of tasks. */
export interface TaskGenerator {
  readonly name: string;
  /** Raised when any seed yields other bytes. */
  readonly version: number;
  readonly dials: Readonly<
    Record<string, { readonly min: number; readonly max: number; readonly step: number; readonly meaning: string }>
  >;
  /** Named cells of the supply, such as `train`, `held-out`, `held-out-hard`; tasks of two cells share no structure. */
  readonly splits: readonly string[];
  /** Pure: equal arguments give equal tasks on every machine. Throws `task_invalid` for an unknown split or dial. */
  generate(input: {
    readonly split: string;
    readonly index: number;
    readonly seed: bigint;
    readonly dials?: Readonly<Record<string, number>>;
    /** Of a supply with cells of its own, the one to draw from; any where it is left out. */
    readonly cell?: string;
  }): Task;
  /** Cells that are no settings of dials, such as the tasks of a set. Absent: the dials make them. */
  cells?(split: string): readonly TaskCell[];
  /** Demonstrations from the train split only; null when this family has none. `noise` in [0, 1] is the share with a systematic bug. */
  demonstrations:
    | ((input: { readonly count: number; readonly seed: bigint; readonly noise: number }) => readonly Demonstration[])
    | null;
  /** The declared character set and keywords of the family's text, for a `chars` tokenizer. */
  readonly alphabet: { readonly characters: string; readonly keywords: readonly string[] } | null;
}

/** What the whole of a task's graded state earned is enough. */
export function isSolved(task: Pick<Task, "threshold">, reward: number): boolean {
  return reward >= task.threshold - 1e-9;
}
