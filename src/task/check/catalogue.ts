/**
 * The 51 checks of `sandlot task check`: number, severity, method, the smallest profile that includes each, and what
 * holds when it passes. This table is the one place for these facts; what runs is joined to it in `registry.ts`.
 */
import { type Check, type CheckSpec, PROFILES, type Profile } from "./check-contract.ts";

/** A check without its id, which is its name in the table. */
type Entry = readonly [
  number: number,
  severity: CheckSpec["severity"],
  method: CheckSpec["method"],
  profile: Profile,
  title: string,
];

const TABLE = {
  "folder-valid": [
    1,
    "E",
    "static",
    "quick",
    "The folder has its required files, a valid schema, a unique key, LF line ends and text where text is due.",
  ],
  "image-builds": [2, "E", "executes", "ci", "The image builds from a clean checkout on this architecture."],
  "oracle-passes": [3, "E", "executes", "quick", "The oracle reaches the full reward in a fresh sandbox."],
  "nop-fails": [4, "E", "executes", "quick", "Doing nothing earns 0 in a fresh sandbox."],
  "oracle-stable": [
    5,
    "E",
    "executes",
    "ci",
    "Repeated runs of the oracle give the same verdict and the same result of every test.",
  ],
  "verifier-stable": [6, "E", "executes", "ci", "Grading one frozen state twice gives the same verdict."],
  "test-order": [7, "W", "executes", "ci", "The hidden tests pass in three random orders."],
  "clock-locale": [
    8,
    "W",
    "executes",
    "release",
    "The oracle passes 400 days later, in another time zone and under another locale.",
  ],
  offline: [9, "E", "executes", "ci", "The oracle passes with the network cut where the task says it is offline."],
  headroom: [
    10,
    "W",
    "executes",
    "ci",
    "The oracle stays within half of its time and memory limits, and the verifier within half of its own.",
  ],
  "half-cpu": [
    11,
    "W",
    "executes",
    "release",
    "The oracle passes on half the processor share and under fourfold parallel load.",
  ],
  "verdict-always": [
    12,
    "E",
    "executes",
    "ci",
    "There is a verdict on a failure, a crash, a timeout and a missing artifact.",
  ],
  "reward-path": [
    13,
    "E",
    "executes",
    "ci",
    "The reward path is absent before grading, and a planted reward is ignored.",
  ],
  trojans: [
    14,
    "E",
    "executes",
    "ci",
    "A planted conftest, sitecustomize, shell start-up file or program on PATH changes nothing.",
  ],
  "exit-and-skip": [15, "E", "executes", "ci", "Stubs that exit 0 or skip every test earn 0."],
  "trivial-answers": [
    16,
    "E",
    "executes",
    "ci",
    "Empty, constant, echoed and list-everything answers stay below the threshold.",
  ],
  "wrong-rejected": [
    17,
    "E",
    "executes",
    "ci",
    "Every shipped wrong solution stays at or below its stated reward; in release at most 10 % of the oracle's mutants survive.",
  ],
  "alternatives-pass": [18, "W", "executes", "release", "At least one correct solution of another approach passes."],
  "hidden-absent": [
    19,
    "E",
    "executes",
    "ci",
    "The hidden tests are nowhere in the agent's image: layers, git objects, caches, compiled files.",
  ],
  "answers-absent": [
    20,
    "E",
    "executes",
    "ci",
    "Expected values and the oracle's own text are not found in the built image.",
  ],
  "oracle-honest": [21, "E", "executes", "ci", "The oracle reads neither tests nor expected files."],
  "verifier-independent": [
    22,
    "E",
    "static",
    "quick",
    "The verifier neither imports nor calls what lies in solution/ or wrong/.",
  ],
  "history-clean": [
    23,
    "E",
    "executes",
    "ci",
    "No future commit, remote, reflog, stash or dangling object is left in a repository of the image.",
  ],
  "no-secrets": [24, "E", "static", "quick", "There is no key, token or password of a real service in the task."],
  "image-pinned": [25, "W", "static", "quick", "The base image is named by digest or is a locked recipe."],
  "dependencies-pinned": [
    26,
    "W",
    "static",
    "quick",
    "Dependencies come from lockfiles with hashes; nothing asks for the latest version.",
  ],
  "no-install-at-grading": [27, "E", "executes", "ci", "Nothing is installed or downloaded while grading."],
  "egress-declared": [
    28,
    "E",
    "executes",
    "ci",
    "What build and oracle reach over the network is what the task declares.",
  ],
  "test-manifest": [
    29,
    "E",
    "executes",
    "quick",
    "The tests that run are those of the manifest; none is skipped, expected to fail or empty.",
  ],
  "tests-assert": [30, "W", "static", "quick", "Every test asserts something, and no assertion is swallowed."],
  "behaviour-judged": [31, "W", "static", "quick", "The verifier judges behaviour and not the words of the source."],
  "no-unsafe-load": [
    32,
    "E",
    "static",
    "quick",
    "No eval, exec, pickle, unsafe YAML or shell string is applied to the agent's data in the verifier.",
  ],
  "judge-injection": [
    33,
    "E",
    "executes",
    "release",
    "Judge prompts delimit the agent's text and force a schema, and 12 injection canaries hold.",
  ],
  "judge-agreement": [
    34,
    "W",
    "executes",
    "release",
    "The judge agrees with the labels (kappa 0.7 or more) and with itself (0.9 or more).",
  ],
  "requirements-mapped": [
    35,
    "W",
    "judge",
    "release",
    "Each requirement of the instruction has a test, and each test a requirement.",
  ],
  "names-stated": [
    36,
    "E",
    "static",
    "ci",
    "Each path and port that a test asserts stands in the instruction or in the environment.",
  ],
  "instruction-form": [
    37,
    "W",
    "static",
    "quick",
    "The instruction has absolute paths, no placeholder, 40 to 8,000 characters and no hidden text.",
  ],
  "no-solution-text": [
    38,
    "W",
    "static",
    "quick",
    "No twelve words in a row stand both in the instruction and in the oracle.",
  ],
  "answer-space": [39, "W", "static", "quick", "A guess is right with a probability of at most 0.02."],
  tolerances: [
    40,
    "W",
    "executes",
    "release",
    "Ten times the oracle's error passes, and a value moved by twice the tolerance fails.",
  ],
  "tiers-monotone": [
    41,
    "W",
    "history",
    "release",
    "Tiers are there, and no episode passes a higher tier while it fails all lower ones.",
  ],
  "milestones-observable": [
    42,
    "E",
    "executes",
    "ci",
    "Each milestone is false at the start, true after a turn of the oracle, and never true for doing nothing.",
  ],
  "least-privilege": [
    43,
    "E",
    "executes",
    "ci",
    "The agent is unprivileged: no engine socket, no capability, no writable grader.",
  ],
  "contract-sufficient": [
    44,
    "E",
    "executes",
    "ci",
    "What crosses to grading is enough: grading the oracle from it agrees with grading where it acted.",
  ],
  "no-residue": [45, "E", "executes", "ci", "Two episodes in one pool slot do not affect each other."],
  "near-duplicate": [
    46,
    "W",
    "static",
    "release",
    "No other task of the set is nearly the same; across splits such a pair is an error.",
  ],
  "difficulty-band": [
    47,
    "W",
    "history",
    "release",
    "The pass rate of reference policies lies in the band, neither never nor always solved.",
  ],
  "episode-audit": [
    48,
    "W",
    "history",
    "release",
    "Past episodes show no split verdict, no test that fails for all, and no score unlike its tests.",
  ],
  "requirements-covered": [
    49,
    "E",
    "static",
    "ci",
    "Every requirement has a test and every hidden test a requirement; no test can be deleted unnoticed.",
  ],
  "tests-cover-oracle": [
    50,
    "W",
    "executes",
    "ci",
    "The hidden tests execute at least 90 % of the branches of the lines the oracle changes.",
  ],
  "feedback-graded": [
    51,
    "W",
    "executes",
    "ci",
    "Over oracle prefixes and wrong solutions the score takes three levels or more and never falls along the oracle.",
  ],
} as const satisfies Readonly<Record<string, Entry>>;

export type CheckId = keyof typeof TABLE;

/** All checks, by number. */
export const CATALOGUE: readonly (CheckSpec & { readonly id: CheckId })[] = Object.entries(TABLE).map(
  ([id, [number, severity, method, profile, title]]) => ({
    number,
    id: id as CheckId,
    severity,
    method,
    profile,
    title,
  }),
);

const BY_ID = new Map(CATALOGUE.map((spec) => [spec.id, spec]));

/** A check of the catalogue, given what it does. */
export function defineCheck(id: CheckId, check: Check["check"]): Check & { readonly id: CheckId } {
  const spec = BY_ID.get(id);
  if (spec === undefined) throw new RangeError(`there is no check ${id}`);
  return { ...spec, check };
}

/** Whether a profile includes what the smallest profile `of` has. */
export function includesProfile(profile: Profile, of: Profile): boolean {
  return PROFILES.indexOf(of) <= PROFILES.indexOf(profile);
}
