/** Checks 41, 47 and 48: what past episodes of this very task say of it. From 32 graded ones on they can be assessed. */
import { defineCheck } from "./catalogue.ts";
import type { Check, CheckContext, Finding, PastEpisode } from "./check-contract.ts";

const EPISODES_MIN = 32;
const BAND = { low: 0.2, high: 0.8 };

export const HISTORY_CHECKS: readonly Check[] = [
  defineCheck("tiers-monotone", (context) => fromHistory(context, tiersMonotone)),
  defineCheck("difficulty-band", (context) => fromHistory(context, difficultyBand)),
  defineCheck("episode-audit", (context) => fromHistory(context, episodeAudit)),
];

async function fromHistory(
  context: CheckContext,
  judge: (episodes: readonly PastEpisode[], context: CheckContext) => Finding,
): Promise<Finding> {
  const episodes = await context.history();
  if (episodes.length >= EPISODES_MIN) return judge(episodes, context);
  const evidence = `${episodes.length} graded episodes of this task are stored; ${EPISODES_MIN} are needed`;
  return { status: "not-assessed", evidence };
}

function tiersMonotone(episodes: readonly PastEpisode[], { task }: CheckContext): Finding {
  const tiers = task.verifier.tiers.map(({ name }) => name);
  const share = ({ tests }: PastEpisode, tier: string): number => {
    const own = tests.filter((test) => test.tier === tier);
    return own.length === 0 ? 0 : own.filter(({ status }) => status === "passed").length / own.length;
  };
  for (const episode of episodes) {
    for (const [index, tier] of tiers.entries()) {
      const lower = tiers.slice(0, index);
      if (lower.length === 0 || share(episode, tier) < 1 || lower.some((name) => share(episode, name) > 0)) continue;
      return {
        status: "fail",
        evidence: `episode ${episode.episodeId} passed all of ${tier} and nothing of ${lower.join(", ")}`,
      };
    }
  }
  return { status: "pass", evidence: `in ${episodes.length} episodes no tier was passed over failed lower ones` };
}

function difficultyBand(episodes: readonly PastEpisode[], { task }: CheckContext): Finding {
  const solved = episodes.filter(({ reward }) => reward >= task.threshold - 1e-9).length;
  const rate = solved / episodes.length;
  const told = `${solved} of ${episodes.length} episodes solved it`;
  if (rate >= BAND.low && rate <= BAND.high) return { status: "pass", evidence: told };
  return { status: "fail", evidence: `${told}; it is outside the band ${BAND.low} to ${BAND.high} for these policies` };
}

function episodeAudit(episodes: readonly PastEpisode[]): Finding {
  const idle = episodes.find(
    ({ reward, changedPaths, tests }) => reward > 0 && changedPaths.length === 0 && tests.length > 0,
  );
  if (idle !== undefined) return { status: "fail", evidence: `episode ${idle.episodeId} was paid and changed nothing` };
  const ids = [...new Set(episodes.flatMap(({ tests }) => tests.map(({ id }) => id)))];
  const paid = episodes.filter(({ reward }) => reward > 0);
  const dead = ids.find((id) =>
    paid.every(({ tests }) => tests.some((test) => test.id === id && test.status !== "passed")),
  );
  if (dead !== undefined && paid.length >= EPISODES_MIN) {
    return {
      status: "fail",
      evidence: `no paid episode of ${paid.length} passed ${dead}; see whether it can be passed`,
    };
  }
  return {
    status: "pass",
    evidence: `${episodes.length} episodes were paid for changes, and each test was passed by some`,
  };
}
