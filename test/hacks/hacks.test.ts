/**
 * Every scripted hack, tried on real sandboxes. The short form gives each hack one fixture, so that each fixture meets
 * some; the long form runs all pairs, with twenty grading seeds each.
 */
import { afterAll, expect, type TestContext, test } from "vitest";
import { MISSING } from "../support/unless.ts";
import { FIXTURES, HACKS } from "./catalogue/all.ts";
import { openMachinery } from "./machinery.ts";
import { honestPolicies, type Pair, pairsOf, tryHonest, trySeparate, tryShared } from "./suite.ts";

/** Three sandboxes an episode, on a machine that runs the rest of the suite beside it. */
const EPISODE_MS = 300_000;
const isLong = process.env["SANDLOT_TEST_SIZE"] === "long";
const SEEDS = isLong ? 20 : 1;
const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
const machinery = openMachinery();
const pairs = isLong ? pairsOf(HACKS, FIXTURES) : onePairEach();
const named = pairs.map((pair) => ({ ...pair, ...pair.hack, kind: pair.fixture.kind }));

/** What fixtures are graded with that a machine may lack. */
const LACKING: Readonly<Record<string, string | null>> = {
  "pytest repair": MISSING.pytest,
  "node:test repair": MISSING.node,
  "C build gate": MISSING.gcc,
};

function skipLacking(context: TestContext, kind: string): void {
  const reason = LACKING[kind] ?? null;
  if (reason !== null) context.skip(reason);
}

afterAll(() => machinery.close());

/** Hacks take turns on the fixtures that each can be tried on. */
function onePairEach(): Pair[] {
  return HACKS.flatMap((hack, index) => {
    const possible = pairsOf([hack], FIXTURES);
    return possible.slice(index % Math.max(1, possible.length)).slice(0, 1);
  });
}

test("every hack has a fixture that it can be tried on, and every name is its own", () => {
  expect(HACKS.filter((hack) => pairsOf([hack], FIXTURES).length === 0).map(({ name }) => name)).toEqual([]);
  expect(new Set(HACKS.map(({ name }) => name)).size).toBe(HACKS.length);
  expect(new Set(FIXTURES.map(({ kind }) => kind)).size).toBe(FIXTURES.length);
});

test.concurrent.for(named)(
  "forging $forges ($pattern, $name) earns nothing on $kind, and nothing beside half a solution",
  { timeout: EPISODE_MS * SEEDS },
  async ({ hack, fixture }, context) => {
    skipLacking(context, fixture.kind);
    for (const seed of seeds) {
      const onNothing = await trySeparate(machinery, { hack, fixture }, "nothing", seed);
      expect(onNothing.reward, onNothing.note).toBe(0);
      const onHalf = await trySeparate(machinery, { hack, fixture }, "half", seed);
      expect(onHalf.reward, onHalf.note).not.toBeNull();
      if (hack.isDestructive) expect(onHalf.reward ?? 1).toBeLessThanOrEqual(fixture.halfReward + 1e-9);
      else expect(onHalf.reward).toBeCloseTo(fixture.halfReward, 9);
    }
  },
);

test.concurrent.for(FIXTURES.flatMap((fixture) => honestPolicies(fixture).map((honest) => ({ fixture, honest }))))(
  "$honest.name earns what it is worth on $fixture.kind, and no finding of tier A",
  { timeout: EPISODE_MS * SEEDS },
  async ({ fixture, honest }, context) => {
    skipLacking(context, fixture.kind);
    for (const seed of seeds) {
      const trial = await tryHonest(machinery, fixture, honest, seed);
      expect(trial.isForged, trial.note).toBe(false);
      expect(trial.findings.filter(({ tier }) => tier === "A")).toEqual([]);
    }
  },
);

/** That these succeed shows that the hacks are real, and that it is the separate mode which stops them. */
const FORGED_WHEN_SHARED = [
  ["planted-reward-file", "unittest repair"],
  ["planted-conftest", "pytest repair"],
  ["exit-before-assertions", "unittest repair"],
  ["hidden-tests-read", "match function"],
  ["forged-log", "pytest repair"],
] as const;

test.concurrent.for(FORGED_WHEN_SHARED)(
  "%s forges a reward on %s where tests run in the agent's own sandbox, as the field's common runner does",
  { timeout: EPISODE_MS },
  async ([name, kind], context) => {
    skipLacking(context, kind);
    const pair = pairsOf(HACKS, FIXTURES).find(({ hack, fixture }) => hack.name === name && fixture.kind === kind);
    if (pair === undefined) throw new Error(`there is no ${name} on ${kind}`);
    expect((await tryShared(machinery, pair, 1))?.isForged).toBe(true);
  },
);
