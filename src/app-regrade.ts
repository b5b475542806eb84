/** What is done to stored runs: grading again, detecting again, and a person's decisions on findings. */
import { availableParallelism } from "node:os";
import { refuseHalfJudge } from "./app-address.ts";
import {
  judgeOf,
  openMachinery,
  requireSandboxes,
  runtime,
  SYSTEM_TEXT,
  verdictIdentityOn,
  verdictMemory,
} from "./app-parts.ts";
import type { ProviderName } from "./app-provider.ts";
import { type TaskOfRow, tasksOfRun } from "./app-tasks.ts";
import { Failure } from "./core/errors.ts";
import type { JudgeEndpoint, JudgeRecord } from "./core/judge.ts";
import type { Review, RunRow, Store } from "./core/store.ts";
import { createGrader } from "./episode/grade.ts";
import { type Recipe, recipeSchema } from "./run/recipe.ts";
import { type RedetectReport, redetect } from "./run/redetect.ts";
import { type RegradeReport, regradeRun } from "./run/regrade.ts";
import { openStore } from "./store/open-store.ts";
import { detectEpisode } from "./verifier/detect/detect.ts";
import { runFindings } from "./verifier/detect/run-level.ts";
import { replayingJudge } from "./verifier/judge.ts";
import { createVerifier } from "./verifier/verifier.ts";

export type { RedetectReport, RegradeReport };

export interface StoredRunOptions {
  readonly dataFolder: string;
  readonly onDone: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

export interface RegradeOptions extends StoredRunOptions {
  /** Folder of the tasks whose verifiers grade; `current` means where the run took its tasks from, as they are now. */
  readonly verifier: string;
  /** Training takes the new rewards from now on. */
  readonly isAdopted: boolean;
  /** Who is asked what the run's judge did not answer; with an empty model the judge of the run. */
  readonly judge: Recipe["judge"];
  /** Asks judges again instead of taking what they answered. */
  readonly isAskedAgain: boolean;
}

/** Grading may hold two sandboxes at once. */
const SANDBOXES_PER_GRADING = 2;

/** Throws `run_live` and `store_locked` while another process writes the data folder. */
export async function regrade(runId: string, options: RegradeOptions): Promise<RegradeReport> {
  refuseHalfJudge(options.judge);
  return withRun(runId, options.dataFolder, async (store, run) => {
    const taskOf = await tasksOfRun(run, options.verifier === "current" ? null : options.verifier);
    const judge = options.judge.model === "" ? judgeNamed(run) : options.judge;
    const provider = providerOf(run);
    await requireSandboxes(provider);
    const concurrency = 2 * availableParallelism();
    const { sandbox: defaults } = recipeSchema.parse({});
    const sandbox = { ...defaults, lentMax: SANDBOXES_PER_GRADING * concurrency, provider };
    const machinery = openMachinery(sandbox, availableParallelism(), verdictMemory(), SYSTEM_TEXT);
    try {
      const grader = createGrader({
        pool: machinery.pool,
        runtime,
        verifier: createVerifier({ runtime, judge: await judgeAgain(store, run, judge, options.isAskedAgain) }),
        verdicts: verdictMemory(),
        identity: verdictIdentityOn(machinery.images, judge),
      });
      const { isAdopted, onDone, signal } = options;
      return await regradeRun({
        ...{ runId: run.runId, regradeId: runtime.id(), store, grader, taskOf },
        ...{ concurrency, isAdopted, onDone, signal },
      });
    } finally {
      await machinery.close();
    }
  });
}

/** Runs the detectors over every stored record of a run and adds what is new. */
export async function detectAgain(runId: string, options: StoredRunOptions): Promise<RedetectReport> {
  return withRun(runId, options.dataFolder, async (store, run) => {
    const taskOf = await tasksOfRun(run, null).catch((): TaskOfRow => () => null);
    const { onDone, signal } = options;
    const detect = { detect: detectEpisode(), detectRun: runFindings };
    return redetect({ runId: run.runId, store, ...detect, taskOf, onDone, signal });
  });
}

/** Adds a person's decision; the last one holds. */
export async function reviewFinding(findingId: string, review: Review, dataFolder: string): Promise<void> {
  const store = await openStore({ folder: dataFolder, runtime, mode: "owner" });
  try {
    await store.review(findingId, review);
  } finally {
    await store.close();
  }
}

async function withRun<T>(runId: string, folder: string, use: (store: Store, run: RunRow) => Promise<T>): Promise<T> {
  const store = await openStore({ folder, runtime, mode: "owner" });
  try {
    const run = await store.run(runId);
    if (run === null)
      throw new Failure("not_found", `There is no run ${runId} in ${folder}. List them: sandlot run list`);
    return await use(store, run);
  } finally {
    await store.close();
  }
}

interface JudgeConfig {
  readonly judge?: Recipe["judge"];
}

/** Answers as the run's judge did, and asks only what it was not asked before; everything anew where that is wanted. */
async function judgeAgain(
  store: Store,
  run: RunRow,
  named: JudgeConfig["judge"],
  isAskedAgain: boolean,
): Promise<JudgeEndpoint> {
  // Opened where something is left to ask: its key may be gone by now, and stored answers need none.
  let opened: JudgeEndpoint | null = null;
  const ask: JudgeEndpoint["ask"] = async (request) => {
    opened ??= (named && judgeOf(named)) ?? replayingJudge([], null);
    return opened.ask(request);
  };
  const records: JudgeRecord[] = [];
  for (const { episodeNo } of isAskedAgain ? [] : await store.episodes(run.runId)) {
    // A record that cannot be read is named when its turn comes.
    const stored = await store.trajectory(run.runId, episodeNo).catch(() => null);
    records.push(...(stored?.document.verification?.judge?.records ?? []));
  }
  return replayingJudge(records, { ask });
}

/** The judge of a run; absent where it names none. */
function judgeNamed(run: RunRow): JudgeConfig["judge"] {
  const config = JSON.parse(run.config) as JudgeConfig & { readonly recipe?: JudgeConfig };
  return config.judge ?? config.recipe?.judge;
}

/** What made the sandboxes of a run makes those that grade it again. */
function providerOf(run: RunRow): ProviderName {
  const config = JSON.parse(run.config) as {
    readonly provider?: ProviderName;
    readonly recipe?: { readonly sandbox?: { readonly provider?: ProviderName } };
  };
  return config.provider ?? config.recipe?.sandbox?.provider ?? "namespace";
}
