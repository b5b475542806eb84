/** Runs `task check`: each script of a task as a real episode in fresh sandboxes, graded anew every time. */
import { availableParallelism } from "node:os";
import { refuseHalfJudge, requireJudge } from "./app-address.ts";
import { openGenerator, openMachinery, requireSandboxes, runtime, SYSTEM_TEXT, verdictMemory } from "./app-parts.ts";
import type { EpisodeRunner } from "./core/episode.ts";
import { deriveSeed } from "./core/random.ts";
import { nopPolicy } from "./policy/nop.ts";
import { scriptPolicy } from "./policy/oracle.ts";
import { type Recipe, recipeSchema } from "./run/recipe.ts";
import { checkRoots, type ScriptRunner } from "./task/check.ts";
import type { CheckReport } from "./task/check-report.ts";

export interface CheckTasksOptions {
  /** How often each script is run. */
  readonly repeats: number;
  readonly signal: AbortSignal;
  /** Who is asked where a task has a judge; absent, or with an empty model, nobody. */
  readonly judge?: Recipe["judge"];
  /** Told one line for each task that is done. */
  readonly onEvent: (line: string) => void;
}

/** Episodes in flight for each core: they wait for each other's processes more than they compute. */
const EPISODES_PER_CORE = 2;

export async function checkAll(
  targets: readonly string[],
  options: CheckTasksOptions,
): Promise<readonly CheckReport[]> {
  const { sandbox, judge: nobody } = recipeSchema.parse({});
  const judge = options.judge ?? nobody;
  refuseHalfJudge(judge);
  await requireSandboxes(sandbox.provider);
  const cores = availableParallelism();
  const machinery = openMachinery(sandbox, cores, verdictMemory(), SYSTEM_TEXT, { judge });
  try {
    return await checkRoots(targets, {
      runtime,
      repeats: options.repeats,
      concurrency: EPISODES_PER_CORE * cores,
      signal: options.signal,
      runScript: scriptRunner(machinery.runEpisode, judge, options.signal),
      openGenerator,
      onReport: (report) => options.onEvent(`${report.verdict}  ${report.key}`),
    });
  } finally {
    await machinery.close();
  }
}

function scriptRunner(runEpisode: EpisodeRunner, judge: Recipe["judge"], signal: AbortSignal): ScriptRunner {
  const checkId = runtime.id();
  let count = 0;
  return async (task, script, repeat) => {
    requireJudge(task, judge);
    count += 1;
    const pinned = task.gradingSeed === "fresh" ? null : task.gradingSeed;
    const { document } = await runEpisode(
      {
        runId: checkId,
        groupId: `${checkId}-g${count}`,
        episodeId: `${checkId}-${count}`,
        member: 0,
        attempt: 1,
        fence: 1,
        taskSet: "task-check",
        split: "check",
        task,
        policy: script === null ? nopPolicy() : scriptPolicy(script),
        samplingSeed: 0n,
        // Each repeat meets other hidden inputs, every script of one repeat the same ones.
        gradingSeed: pinned ?? deriveSeed("task-check", task.key, repeat),
        recipeHash: "",
        queuedMs: 0,
        mayReuseVerdict: false,
        extraFiles: script?.files ?? [],
      },
      signal,
    );
    return { outcome: document.outcome, tests: document.tests };
  };
}
