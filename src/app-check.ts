/**
 * Runs `task check`: each script of a task as a real episode in fresh sandboxes, graded anew every time, and sandboxes
 * as an agent meets them, within what this machine can do at once.
 */
import { availableParallelism } from "node:os";
import { refuseHalfJudge, requireJudge } from "./app-address.ts";
import { pastEpisodes } from "./app-check-history.ts";
import {
  codeVersion,
  judgeOf,
  openGenerator,
  openMachinery,
  requireSandboxes,
  runtime,
  SYSTEM_TEXT,
  verdictMemory,
} from "./app-parts.ts";
import type { EpisodeRunner } from "./core/episode.ts";
import type { JudgeEndpoint } from "./core/judge.ts";
import { deriveSeed } from "./core/random.ts";
import type { SandboxPool } from "./core/sandbox-pool.ts";
import { ActingSandbox } from "./episode/acting-sandbox.ts";
import { nopPolicy } from "./policy/nop.ts";
import { scriptPolicy } from "./policy/oracle.ts";
import { type Recipe, recipeSchema } from "./run/recipe.ts";
import type { CheckContext, Profile } from "./task/check/check-contract.ts";
import { openCheckMemory } from "./task/check/check-memory.ts";
import type { CheckReport } from "./task/check/check-report.ts";
import { checkRoots } from "./task/check/check-roots.ts";
import type { CheckOptions } from "./task/check/run-checks.ts";
import type { ScriptRunner } from "./task/check/run-ledger.ts";
import { askJudge } from "./verifier/judge.ts";

export interface CheckTasksOptions {
  readonly profile: Profile;
  readonly signal: AbortSignal;
  /** Drawn tasks of each generator; default 2. */
  readonly seeds?: number;
  /** Wall clock of one task, milliseconds; default by profile. */
  readonly taskMs?: number;
  /** Ids of checks; the others of the profile count as not assessed. Default all. */
  readonly only?: readonly string[];
  /** Who is asked where a task has a judge; absent, or with an empty model, nobody. */
  readonly judge?: Recipe["judge"];
  /** Where results are remembered and past episodes are looked for; absent: neither. */
  readonly dataFolder?: string;
  /** Takes final results of unchanged tasks from the memory. */
  readonly isResumed?: boolean;
  /** Lets nothing count that earlier runs found. */
  readonly isForgetting?: boolean;
  /** Told each report as it is done. */
  readonly onReport?: (report: CheckReport) => void;
}

/** Episodes in flight for each core: they wait for each other's processes more than they compute. */
const EPISODES_PER_CORE = 2;
const SEEDS = 2;
const MINUTE_MS = 60_000;
/** Of one task; six times what the design aims at, for a machine that is busy or starved. */
const TASK_MS: Readonly<Record<Profile, number>> = {
  quick: 10 * MINUTE_MS,
  ci: 30 * MINUTE_MS,
  release: 360 * MINUTE_MS,
};

/** Throws `task_not_found`, `config_invalid`, and `environment_missing` where no sandbox can be made. */
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
  const { dataFolder = null, profile, signal, onReport } = options;
  const version = codeVersion();
  const memory =
    dataFolder === null
      ? null
      : await openCheckMemory(`${dataFolder}/task-check.jsonl`, `${version.sandlot}+${version.commit ?? "release"}`);
  const atOnce = EPISODES_PER_CORE * cores;
  try {
    return await checkRoots(targets, {
      profile,
      runtime,
      signal,
      seeds: options.seeds ?? SEEDS,
      taskMs: options.taskMs ?? TASK_MS[profile],
      tasksAtOnce: atOnce,
      only: options.only ?? [],
      memory,
      isResumed: options.isResumed ?? false,
      isForgetting: options.isForgetting ?? false,
      runScript: atMost(atOnce, scriptRunner(machinery.runEpisode, judge)),
      withAgentSandbox: agentSandboxes(machinery.pool, atOnce),
      ...judgePorts(judgeOf(judge)),
      history: dataFolder === null ? async () => [] : pastEpisodes(dataFolder),
      openGenerator,
      ...(onReport === undefined ? {} : { onReport }),
    });
  } finally {
    await machinery.close();
  }
}

function scriptRunner(runEpisode: EpisodeRunner, judge: Recipe["judge"]): ScriptRunner {
  const checkId = runtime.id();
  let count = 0;
  return async ({ task, script, repeat, isGradedTwice, signal }) => {
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
        isGradedTwice,
        extraFiles: script?.files ?? [],
      },
      signal,
    );
    return { outcome: document.outcome, tests: document.tests, document };
  };
}

/** Sandboxes as an episode would open them. They have places of their own, since what holds one may wait for episodes. */
function agentSandboxes(pool: SandboxPool, count: number): CheckOptions["withAgentSandbox"] {
  const checkId = runtime.id();
  let opened = 0;
  const place = places(count);
  return async (task, signal, work) => {
    opened += 1;
    const attemptId = `${checkId}-s${opened}`;
    return place(async () => {
      const acting = new ActingSandbox({
        task,
        extraFiles: [],
        attemptId,
        fence: 1,
        isolationMin: "namespace",
        pool,
        runtime,
        signal,
      });
      try {
        return await work(await acting.claim());
      } finally {
        await acting.close();
      }
    });
  };
}

function judgePorts(endpoint: JudgeEndpoint | null): Pick<CheckOptions, "judge" | "judgeAnswer"> {
  if (endpoint === null) return { judge: null };
  const judgeAnswer: NonNullable<CheckContext["judgeAnswer"]> = ({ spec, answer, gradingSeed, signal }) =>
    askJudge({ spec, artifacts: { answer, files: [] }, tests: [], knownPaths: [], gradingSeed, signal }, endpoint);
  return { judge: endpoint, judgeAnswer };
}

function atMost(count: number, run: ScriptRunner): ScriptRunner {
  const place = places(count);
  return (request) => place(() => run(request));
}

/** Runs at most `count` works at once; the rest wait in order. */
function places(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = Math.max(1, count);
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
