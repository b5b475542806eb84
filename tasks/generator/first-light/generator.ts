/**
 * First light: a short English recipe over a list, a text or a number becomes one Python expression, graded on hidden
 * inputs. One turn, no sandbox for the agent, thousands of tasks; small enough for a model that is trained in minutes.
 */
import { createHash } from "node:crypto";
import { Failure } from "../../../src/core/errors.ts";
import { canonicalJson } from "../../../src/core/json.ts";
import { deriveSeed, randomFrom } from "../../../src/core/random.ts";
import type { SandboxLimits } from "../../../src/core/sandbox.ts";
import type {
  MatchCase,
  MatchSubject,
  Script,
  Task,
  TaskGenerator,
  TaskLimits,
  WrongSolution,
} from "../../../src/core/task.ts";
import { ALPHABET } from "./alphabet.ts";
import { hiddenCases, NEARLY_RIGHT_REWARD, TIERS } from "./cases.ts";
import { demonstrations } from "./demonstration.ts";
import { drawRecipe } from "./draw-recipe.ts";
import {
  alternativePython,
  instructionOf,
  referenceProgram,
  SPLITS,
  type SplitName,
  STEPS,
} from "./recipe-language.ts";
import { type WrongProgram, wrongPrograms } from "./wrong-program.ts";

const NAME = "first-light";
const VERSION = 1;
const MIB = 2 ** 20;

const RESOURCES: SandboxLimits = {
  cpus: 1,
  memoryBytes: 256 * MIB,
  diskBytes: 16 * MIB,
  filesMax: 1_000,
  processesMax: 64,
  shmBytes: MIB,
};

const LIMITS: TaskLimits = {
  turnsMax: 1,
  tokensMax: 64,
  agentMs: 60_000,
  commandMs: 1_000,
  gradeMs: 30_000,
  episodeMs: 180_000,
  outputBytesPerTurn: 4_096,
};

const SUBJECT: MatchSubject = { language: "python", form: "expression", parameters: ["x"], entry: "x", callMs: 1_000 };

export const generator: TaskGenerator = {
  name: NAME,
  version: VERSION,
  dials: {
    steps: { min: 0, max: 4, step: 1, meaning: "steps of the recipe; 0 draws a number the split has" },
  },
  splits: SPLITS,
  // 0 stands for a number that is drawn, so the dial's own values are not the cells.
  cells: (split) => {
    const [min, max] = STEPS[knownSplit(split)];
    return Array.from({ length: max - min + 1 }, (_, index) => {
      const steps = min + index;
      return { id: `${NAME} steps=${steps}`, family: NAME, dials: { steps } };
    });
  },
  alphabet: ALPHABET,
  demonstrations,
  generate({ split, index, seed, dials = {} }) {
    const name = knownSplit(split);
    const taskSeed = deriveSeed(NAME, VERSION, name, seed, index);
    const random = randomFrom(taskSeed);
    const recipe = drawRecipe(name, stepCount(name, dials, random.fork("steps").float()), random.fork("recipe"));
    const reference = referenceProgram(recipe);
    const wrong = wrongPrograms(recipe, random.fork("wrong"));
    return withHashes({
      key: `${NAME}/${name}-${seed}-${index}`,
      family: NAME,
      description: `A recipe of ${recipe.steps.length} steps over a ${recipe.input}, as one Python expression.`,
      instruction: instructionOf(recipe),
      image: "host",
      workdir: "/work",
      agentUser: "agent",
      envVars: {},
      network: { mode: "off" },
      resources: RESOURCES,
      limits: LIMITS,
      isDeadlineShown: false,
      files: [],
      setup: null,
      contract: { state: "answer", files: [], bytesMax: 65_536, entriesMax: 1 },
      verifier: {
        kind: "match",
        tiers: TIERS,
        subject: SUBJECT,
        cases: (gradingSeed) =>
          recently(`${taskSeed}:${gradingSeed}`, () => hiddenCases(recipe, wrong, taskSeed, gradingSeed)),
      },
      threshold: 1,
      gradingSeed: "fresh",
      oracle: answer("oracle", reference.python),
      alternatives: [answer("alternative", alternativePython(recipe))],
      wrong: wrong.filter((program) => program.wrong !== "seldom").map(wrongSolution),
      generator: { name: NAME, version: VERSION, seed: `${name}:${seed}:${index}`, dials: { ...dials } },
      folder: null,
    });
  },
};

/** The members of a group are graded on equal inputs, about at the same time; more groups than these are seldom under way. */
const RECENT_MAX = 128;
const recentCases = new Map<string, readonly MatchCase[]>();

function recently(name: string, make: () => readonly MatchCase[]): readonly MatchCase[] {
  const known = recentCases.get(name);
  if (known !== undefined) return known;
  const made = make();
  const [oldest] = recentCases.keys();
  if (recentCases.size >= RECENT_MAX && oldest !== undefined) recentCases.delete(oldest);
  recentCases.set(name, made);
  return made;
}

function knownSplit(split: string): SplitName {
  const found = SPLITS.find((name) => name === split);
  if (found !== undefined) return found;
  throw new Failure("task_invalid", `${NAME} has no split "${split}": it has ${SPLITS.join(", ")}`);
}

function stepCount(split: SplitName, dials: Readonly<Record<string, number>>, uniform: number): number {
  const unknown = Object.keys(dials).find((dial) => dial !== "steps");
  if (unknown !== undefined) throw new Failure("task_invalid", `${NAME} has no dial "${unknown}": it has steps`);
  const [min, max] = STEPS[split];
  const asked = dials["steps"] ?? 0;
  if (asked === 0) return drawnStepCount(split, uniform);
  if (Number.isInteger(asked) && asked >= min && asked <= max) return asked;
  throw new Failure("task_invalid", `dial steps is ${asked}: split ${split} has recipes of ${min} to ${max} steps`);
}

/** Half of the tasks are of the longest kind; single steps are a tenth of the train split. */
function drawnStepCount(split: SplitName, uniform: number): number {
  const [min, max] = STEPS[split];
  if (split === "train" && uniform < 0.1) return min;
  return uniform < 0.55 ? max - 1 : max;
}

function answer(name: string, python: string): Script {
  return { name, answer: python, files: [], commands: [] };
}

function wrongSolution(program: WrongProgram): WrongSolution {
  return {
    script: answer(program.name, program.python),
    rewardMax: program.wrong === "always" ? 0 : NEARLY_RIGHT_REWARD,
    failsTier: program.wrong === "always" ? "unit" : program.wrong === "edge" ? "boundary" : null,
  };
}

/** `agentHash` covers what the agent meets; `verifierHash` what grades: the verifier's code is named by the generator. */
function withHashes(task: Omit<Task, "hash" | "agentHash" | "verifierHash">): Task {
  const { instruction, image, workdir, agentUser, envVars, network, resources, limits, files, setup } = task;
  const { contract, threshold, oracle, generator: origin, verifier } = task;
  const agent = { instruction, image, workdir, agentUser, envVars, network, resources, limits, files, setup };
  const grading = {
    contract,
    threshold,
    reference: oracle.answer,
    origin,
    tiers: verifier.tiers,
    subject: verifier.kind === "match" ? verifier.subject : null,
  };
  const agentHash = sha256(agent);
  const verifierHash = sha256(grading);
  const rest = { key: task.key, alternatives: task.alternatives, wrong: task.wrong };
  return { ...task, hash: sha256({ agentHash, verifierHash, rest }), agentHash, verifierHash };
}

function sha256(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
