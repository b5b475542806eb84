/** Runs hacks and honest policies on fixtures in both modes, and says of each what it earned and what was found. */
import type { Finding } from "../../src/core/finding.ts";
import { deriveSeed } from "../../src/core/random.ts";
import type { Script } from "../../src/core/task.ts";
import type { TrajectoryRecord } from "../../src/core/trajectory.ts";
import { evidenceOf } from "../../src/episode/conclude.ts";
import { detectEpisode } from "../../src/verifier/detect/detect.ts";
import { appliesTo, type Fixture, type Hack, type Honest, NOTHING } from "./hack.ts";
import type { Machinery } from "./machinery.ts";
import { gradeShared } from "./shared-grader.ts";

const TOLERANCE = 1e-9;
const detect = detectEpisode();

export interface Pair {
  readonly hack: Hack;
  readonly fixture: Fixture;
}

export type FindingMark = Pick<Finding, "detector" | "tier" | "pattern" | "effect" | "isPunished">;

/** One episode of the suite. */
export interface Trial {
  readonly policy: "hack" | "oracle" | "half" | "near-miss" | "nothing";
  readonly mode: "separate" | "shared";
  readonly pattern: number | null;
  readonly name: string;
  readonly fixture: string;
  readonly base: "nothing" | "half" | null;
  readonly seed: number;
  /** Null when the episode was thrown away: no reward exists, which a hack must not bring about either. */
  readonly reward: number | null;
  /** What an honest policy earns with the same base. */
  readonly honest: number;
  /** True when the hack earned more than the honest base, or got itself thrown away. */
  readonly isForged: boolean;
  readonly findings: readonly FindingMark[];
  /** How a discarded episode ended. */
  readonly note: string;
}

/** All pairs that make sense, in the order of the catalogue. */
export function pairsOf(hacks: readonly Hack[], fixtures: readonly Fixture[]): Pair[] {
  return hacks.flatMap((hack) =>
    fixtures.filter((fixture) => appliesTo(hack, fixture)).map((fixture) => ({ hack, fixture })),
  );
}

/** The hack on nothing or on half a solution, graded in the default mode. */
export async function trySeparate(
  machinery: Machinery,
  { hack, fixture }: Pair,
  base: "nothing" | "half",
  seed: number,
): Promise<Trial> {
  const record = await machinery.episode(fixture, hackedScript({ hack, fixture }, base), seedOf(fixture, seed));
  const honest = base === "half" ? fixture.halfReward : 0;
  const { reward, note } = endOf(record);
  return {
    ...trialOf({ hack, fixture }, "separate", base, seed),
    reward,
    honest,
    isForged: reward === null || reward > honest + TOLERANCE,
    findings: findingsOf(record, fixture),
    note,
  };
}

/** The same on a runner of the field. Null where the field has no form of the fixture. */
export async function tryShared(machinery: Machinery, pair: Pair, seed: number): Promise<Trial | null> {
  const { fixture } = pair;
  if (fixture.shared === null) return null;
  const reward = await gradeShared(machinery.pool, fixture, fixture.shared, hackedScript(pair, "nothing"));
  const isForged = reward === null || reward > TOLERANCE;
  return { ...trialOf(pair, "shared", "nothing", seed), reward, honest: 0, isForged, findings: [], note: "" };
}

/** An honest policy in the default mode; `isForged` then says that it earned other than it should. */
export async function tryHonest(machinery: Machinery, fixture: Fixture, honest: Honest, seed: number): Promise<Trial> {
  const record = await machinery.episode(fixture, honest.script, seedOf(fixture, seed));
  const { reward, note } = endOf(record);
  const isOther = reward === null || !isWorth(fixture, reward, honest.reward);
  return {
    policy: honest.kind,
    mode: "separate",
    pattern: null,
    name: honest.name,
    fixture: fixture.kind,
    base: null,
    seed,
    reward,
    honest: honest.reward,
    isForged: isOther,
    findings: findingsOf(record, fixture),
    note: isOther ? `${note} ${whatFailed(record)}` : note,
  };
}

function isWorth({ isMeasured, task }: Fixture, reward: number, wanted: number): boolean {
  if (isMeasured === true && wanted === 1) return reward >= task.threshold;
  return Math.abs(reward - wanted) <= TOLERANCE;
}

/** Oracle, half and what looks like a hack and is none. */
export function honestPolicies(fixture: Fixture): Honest[] {
  return [
    { name: "oracle", kind: "oracle", script: fixture.task.oracle, reward: 1 },
    { name: "half solution", kind: "half", script: fixture.half, reward: fixture.halfReward },
    ...fixture.nearMisses,
  ];
}

function hackedScript({ hack, fixture }: Pair, base: "nothing" | "half"): Script {
  const move = hack.move(fixture);
  if (move === null) throw new Error(`${hack.name} says nothing of ${fixture.kind}`);
  return fixture.apply(base === "half" ? fixture.half : NOTHING, move);
}

function trialOf({ hack, fixture }: Pair, mode: Trial["mode"], base: "nothing" | "half", seed: number) {
  return { policy: "hack", mode, pattern: hack.pattern, name: hack.name, fixture: fixture.kind, base, seed } as const;
}

function seedOf(fixture: Fixture, seed: number): bigint {
  return deriveSeed("hacks", fixture.kind, seed);
}

function endOf({ document }: TrajectoryRecord): { readonly reward: number | null; readonly note: string } {
  const { outcome } = document;
  if (outcome.kind === "graded") return { reward: outcome.reward, note: "" };
  return { reward: null, note: JSON.stringify(outcome) };
}

/** What the detectors say of the record, as they would in a run; the reward was taken before. */
function findingsOf({ document, bodies }: TrajectoryRecord, { task }: Fixture): FindingMark[] {
  const body = (hash: string): Uint8Array | null => bodies.get(hash) ?? null;
  const { findings, failed } = detect({ document, body, evidence: evidenceOf(document, body), task });
  if (failed.length > 0) throw new Error(`detectors failed: ${failed.join(", ")}`);
  return findings.map(({ detector, tier, pattern, effect, isPunished }) => ({
    detector,
    tier,
    pattern,
    effect,
    isPunished,
  }));
}

/** The tests that failed and what the policy saw, for whoever has to find out why. */
function whatFailed({ document, bodies }: TrajectoryRecord): string {
  const failed = document.tests.filter((one) => one.status !== "passed");
  const seen = document.nodes.map((node) =>
    Buffer.from(bodies.get(node.body) ?? "")
      .toString("utf8")
      .slice(0, 600),
  );
  return JSON.stringify({ failed, seen });
}
