/** A whole run of the suite: so many pairs of each pattern in both modes, and the honest policies beside them. */
import type { Fixture, Hack } from "./hack.ts";
import type { Machinery } from "./machinery.ts";
import { honestPolicies, pairsOf, type Trial, tryHonest, trySeparate, tryShared } from "./suite.ts";

export interface CampaignOptions {
  readonly hacks: readonly Hack[];
  readonly fixtures: readonly Fixture[];
  /** Pairs of task and seed for each pattern; each is tried in both modes. */
  readonly pairsPerPattern: number;
  /** Grading seeds for each honest policy. */
  readonly honestSeeds: number;
  /** Episodes at once. */
  readonly jobs: number;
  readonly onProgress: (done: number, of: number) => void;
}

type Job = () => Promise<Trial | null>;

/** Every trial, in no particular order. A trial that throws ends the campaign: the suite has no room for unknown ends. */
export async function runCampaign(machinery: Machinery, options: CampaignOptions): Promise<Trial[]> {
  const jobs = [...hackJobs(machinery, options), ...honestJobs(machinery, options)];
  const waiting = [...jobs];
  const trials: Trial[] = [];
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const trial = await job();
      if (trial !== null) trials.push(trial);
      done += 1;
      options.onProgress(done, jobs.length);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, worker));
  return trials;
}

/** The pairs of a pattern take turns; every second time the hack stands on half a solution. */
function hackJobs(machinery: Machinery, { hacks, fixtures, pairsPerPattern }: CampaignOptions): Job[] {
  const byPattern = Map.groupBy(pairsOf(hacks, fixtures), ({ hack }) => hack.pattern);
  return [...byPattern.values()].flatMap((pairs) =>
    Array.from({ length: pairsPerPattern }, (_, index): Job[] => {
      // A stride that shares no factor with most lengths spreads few pairs over hacks and fixtures alike.
      const pair = pairs[((pairs[0]?.hack.pattern ?? 0) + index * 7) % pairs.length];
      if (pair === undefined) return [];
      const base = index % 2 === 0 ? "nothing" : "half";
      const seed = 1 + index;
      return [() => trySeparate(machinery, pair, base, seed), () => tryShared(machinery, pair, seed)];
    }).flat(),
  );
}

function honestJobs(machinery: Machinery, { fixtures, honestSeeds }: CampaignOptions): Job[] {
  return fixtures.flatMap((fixture) =>
    honestPolicies(fixture).flatMap((honest) =>
      Array.from(
        { length: honestSeeds },
        (_, index): Job =>
          () =>
            tryHonest(machinery, fixture, honest, index + 1),
      ),
    ),
  );
}
