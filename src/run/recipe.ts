/**
 * What a run is told, with every default in one place: the recipe file's schema. A key that is not here is an error,
 * and `--print-config` shows each value with its origin. Numbers end in their unit; tokens, episodes and steps are counts.
 */
import { z } from "zod";
import { CHEATING_PENALTY_MIN, type CheatingRule } from "../core/outcome.ts";

const count = (min: number, max: number) => z.int().min(min).max(max);
const positive = z.number().positive();
const share = z.number().min(0).max(1);

const tasks = z.strictObject({
  /** Folder of a generator, relative to the recipe file. */
  generator: z.string().min(1).default("../tasks/generator/first-light"),
  /** Split the policy is trained on. */
  train: z.string().min(1).default("train"),
  /** Split the reported pass rates come from; shares no task structure with `train`. */
  heldOut: z.string().min(1).default("held-out"),
  /** A harder held-out split, reported beside it; empty for none. */
  heldOutHard: z.string().default("held-out-hard"),
});

const policy = z.strictObject({
  backend: z.enum(["embedded"]).default("embedded"),
  /** Model shape: nano 2x64, micro 2x128, mini 3x160, small 4x256 (layers x width). */
  preset: z.enum(["nano", "micro", "mini", "small"]).default("micro"),
  /** Most tokens of prompt and answer together. */
  contextTokens: count(16, 4_096).default(96),
  /** Most tokens of one answer. */
  answerTokensMax: count(1, 2_048).default(40),
  temperature: z.number().positive().max(4).default(1),
  /** Worker threads of the engine; 0 means one per core, at most 16. */
  threads: count(0, 16).default(0),
  engineMemoryBytesMax: count(1 << 20, 2 ** 40).default(2 ** 31),
});

const sft = z.strictObject({
  /** Generated demonstrations; 0 skips the phase. */
  demonstrations: count(0, 1_000_000).default(1_000),
  /** Share of demonstrations with a systematic bug. */
  noise: share.default(0.6),
  steps: count(0, 1_000_000).default(400),
  /** Demonstrations per step. */
  batch: count(1, 100_000).default(64),
  learningRate: positive.default(1e-3),
  /** Steps over which the learning rate rises from 0. */
  warmupSteps: count(0, 1_000_000).default(20),
  /** What the learning rate has fallen to at the last step, on a straight line, as a share of it. */
  learningRateEndShare: share.default(0.1),
  checkpointEverySteps: count(1, 1_000_000).default(200),
});

const rl = z.strictObject({
  algorithm: z.enum(["grpo"]).default("grpo"),
  steps: count(0, 1_000_000).default(60),
  groupsPerBatch: count(1, 10_000).default(32),
  /** Episodes per group, sharing one baseline. */
  groupSize: count(2, 1_024).default(8),
  learningRate: positive.default(3e-4),
  /** Whether advantages are divided by the group's standard deviation, which weighs nearly solved tasks most. */
  isStdNormalized: z.boolean().default(false),
  clipLow: share.default(0.2),
  clipHigh: share.default(0.28),
  aggregation: z
    .enum(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "sum"])
    .default("token-mean"),
  /** Of tasks with milestones: `turn` credits each turn with what was still to be earned from it on, `episode` all alike. */
  credit: z.enum(["turn", "episode"]).default("turn"),
  /** Strength of the KL term in the loss (k2); 0 leaves it out. KL is reported all the same. */
  klBeta: z.number().min(0).default(0),
  /** Most sequences of a batch whose KL to the supervised start is measured. */
  klSequencesMax: count(0, 1_000_000).default(64),
  gradientClip: z.number().min(0).default(1),
  /** A step is refused when sampled and recomputed log-probabilities differ by more than this, nats. */
  mismatchMax: positive.default(1e-4),
  checkpointEverySteps: count(1, 1_000_000).default(20),
  /** Newest checkpoints of this phase that are kept; the end of the supervised one always is. */
  checkpointsKept: count(1, 1_000).default(3),
});

/** Which of a generator's cells (its dials, or the tasks of a set) training draws from. */
const curriculum = z.strictObject({
  /** False draws as the generator does by itself. */
  isEnabled: z.boolean().default(false),
  /** Pass rates between which a cell is worth training on. */
  bandLow: share.default(0.2),
  bandHigh: share.default(0.8),
  /** What a graded episode counts after one more policy version. */
  decay: share.default(0.98),
});

/** What a reward is, beyond what the verifier says. */
const reward = z.strictObject({
  /** What deterministic evidence of cheating earns: nothing, a penalty, or nothing with its own tokens left out of training. */
  cheating: z.enum(["zero", "penalty", "exclude"]).default("zero"),
  /** The reward of an episode that cheated, for `penalty`. */
  cheatingPenalty: z.number().min(CHEATING_PENALTY_MIN).lt(0).default(-0.25),
  /** Share of graded episodes whose frozen state is graded a second time, to find verdicts that do not repeat. */
  reverifyShare: share.default(0.01),
});

/** Who answers for the policy. */
const endpoint = z.strictObject({
  /** Of one model call, what is charged to the agent's time at most; beyond it the endpoint is slow, not the agent. */
  objectiveMs: count(1, 86_400_000).default(120_000),
});

/** Who answers what code cannot decide, in tasks that ask for it. */
const judge = z.strictObject({
  /** Address of an OpenAI-compatible endpoint; empty for the client's own default. */
  endpoint: z
    .string()
    .refine(
      isBareAddress,
      "must be an http or https address without user, password or query; name a key by keyVariable",
    )
    .default(""),
  /** Name of the model; empty for no judge. */
  model: z.string().default(""),
  /** Environment variable that holds the endpoint's key; empty for OPENAI_API_KEY, which may then be unset. */
  keyVariable: z
    .string()
    .regex(/^(?:[A-Za-z_][A-Za-z0-9_]*)?$/, "must be the name of an environment variable, not the key itself")
    .default(""),
});

/** A recipe is stored with its run and shown; a secret in an address would be too. */
function isBareAddress(text: string): boolean {
  if (text === "") return true;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

/** AdamW, for both phases. Betas and epsilon as the Tinker API's defaults; a model this small needs no weight decay. */
const optimizer = z.strictObject({
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  epsilon: positive.default(1e-12),
  weightDecay: z.number().min(0).max(1).default(0),
});

const evaluation = z.strictObject({
  /** Held-out tasks, one sampled episode each, before and after RL. */
  episodes: count(1, 1_000_000).default(400),
  /** Also answer each held-out task greedily. */
  isGreedyReported: z.boolean().default(true),
});

/** Names of the sandbox providers a person can choose from, the default first. */
export const PROVIDERS = ["namespace", "bwrap", "docker", "podman"] as const;

const sandbox = z.strictObject({
  /** What makes the sandboxes. */
  provider: z.enum(PROVIDERS).default("namespace"),
  /** Sandboxes lent at once; one grading needs two, one that measures speed four. */
  lentMax: count(4, 100_000).default(16),
  /** Sandboxes being created at once; 0 means one per core. */
  creatingMax: count(0, 1_024).default(0),
  /** Sandboxes kept ready ahead of demand, at most. */
  readyMax: count(0, 10_000).default(8),
  /** How often one byte of memory may be promised to sandboxes that are lent. */
  memoryOvercommit: z.number().min(1).max(1_000).default(1),
  /** `turns` keeps what a sandbox holds after each turn, so that `sandlot episode fork` can open it later. */
  snapshots: z.enum(["none", "turns"]).default("none"),
});

const scheduler = z.strictObject({
  /** Episodes in flight at once. */
  episodesMax: count(1, 100_000).default(512),
  attemptsMax: count(1, 100).default(5),
  leaseMs: count(1_000, 3_600_000).default(600_000),
  retryBaseMs: count(1, 600_000).default(1_000),
  retryMaxMs: count(1, 3_600_000).default(60_000),
  /** The run halts when more than this share of the last 500 attempts failed. */
  failureShareMax: share.default(0.2),
  /** The run halts after this many failed attempts in a row. */
  failuresInRowMax: count(1, 100_000).default(50),
});

/** Every key of a recipe with its bounds and default; an unknown key is an error. */
export const recipeSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "must be kebab-case")
    .default("run"),
  /** Everything random in the run derives from it. */
  seed: count(0, Number.MAX_SAFE_INTEGER).default(1),
  tasks: tasks.prefault({}),
  curriculum: curriculum.prefault({}),
  policy: policy.prefault({}),
  sft: sft.prefault({}),
  rl: rl.prefault({}),
  reward: reward.prefault({}),
  endpoint: endpoint.prefault({}),
  judge: judge.prefault({}),
  optimizer: optimizer.prefault({}),
  evaluation: evaluation.prefault({}),
  sandbox: sandbox.prefault({}),
  scheduler: scheduler.prefault({}),
});

/** A recipe with every default filled in. */
export type Recipe = z.infer<typeof recipeSchema>;

/** The rule a recipe names. */
export function cheatingRule({ cheating, cheatingPenalty }: Recipe["reward"]): CheatingRule {
  return cheating === "penalty" ? { kind: "penalty", penalty: cheatingPenalty } : { kind: cheating };
}
