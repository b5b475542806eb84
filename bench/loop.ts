/**
 * The whole first-light loop at a reduced number of steps: episodes per second, and where the seconds go. Runs the real
 * recipe through the real application in a folder of its own, which is removed afterwards.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openReader, shippedFolder, train } from "../src/app.ts";
import { loadRecipe } from "../src/run/load-recipe.ts";
import type { TrainSummary } from "../src/run/report.ts";

const RL_STEPS = 20;
const EVALUATION_EPISODES = 100;

export interface LoopResult {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  readonly loadBefore: readonly number[];
  readonly loadAfter: readonly number[];
  readonly rlSteps: number;
  readonly rlEpisodesPerSecond: number | null;
  /** Wall seconds of all steps together: gathering, training, store. */
  readonly secondsByActivity: Readonly<Record<string, number>>;
  readonly summary: TrainSummary;
}

export async function run(): Promise<LoopResult> {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-bench-"));
  const loadBefore = loadavg();
  try {
    const overrides = [`rl.steps=${RL_STEPS}`, `evaluation.episodes=${EVALUATION_EPISODES}`, 'tasks.heldOutHard=""'];
    const recipe = await loadRecipe(join(shippedFolder("recipes"), "first-light.toml"), overrides, {});
    const never = new AbortController().signal;
    const summary = await train(recipe, { dataFolder: folder, onEvent: () => undefined, drain: never, abort: never });
    const { groupsPerBatch, groupSize } = recipe.recipe.rl;
    const seconds = summary.secondsByPhase["rl"] ?? 0;
    const result: LoopResult = {
      cores: availableParallelism(),
      cpu: cpus()[0]?.model ?? "unknown",
      node: process.version,
      loadBefore,
      loadAfter: loadavg(),
      rlSteps: RL_STEPS,
      secondsByActivity: await secondsByActivity(folder, summary.runId),
      rlEpisodesPerSecond: seconds === 0 ? null : (RL_STEPS * groupsPerBatch * groupSize) / seconds,
      summary,
    };
    print(result);
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the steps of the reinforcement phase spent, from their metrics in the store. */
async function secondsByActivity(folder: string, runId: string): Promise<Record<string, number>> {
  const store = await openReader(folder);
  try {
    const sums: Record<string, number> = { gather: 0, train: 0, store: 0 };
    const ids = Object.keys(sums).map((name) => `timing_s/${name}`);
    for (const { id, value } of await store.points(runId, ids)) {
      const name = id.slice("timing_s/".length);
      sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  } finally {
    await store.close();
  }
}

function print({
  summary,
  rlEpisodesPerSecond,
  loadBefore,
  loadAfter,
  cores,
  secondsByActivity: spent,
}: LoopResult): void {
  const load = (values: readonly number[]): string => (values[0] ?? 0).toFixed(2);
  console.log(`cores ${cores}, load average ${load(loadBefore)} before and ${load(loadAfter)} after, one run`);
  console.log(`episodes/s of the reinforcement phase  ${rlEpisodesPerSecond?.toFixed(1) ?? "—"}`);
  console.log(
    `episodes ${summary.episodes}, verdicts reused ${summary.verdictsReused}, sandboxes ${summary.sandboxesCreated}`,
  );
  printShares("wall time by phase", summary.secondsByPhase);
  printShares("reinforcement steps: gathering (sampling, sandboxes, grading), training, store", spent);
  printShares("episode time by phase (episodes overlap)", summary.secondsByEpisodePhase);
}

function printShares(title: string, seconds: Readonly<Record<string, number>>): void {
  const total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
  console.log(title);
  for (const [name, value] of Object.entries(seconds).sort(([, a], [, b]) => b - a)) {
    const share = total === 0 ? 0 : (100 * value) / total;
    console.log(`  ${name.padEnd(18)} ${value.toFixed(2).padStart(9)} s ${share.toFixed(1).padStart(6)} %`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run();
