/**
 * The platform of the outcome drills, as a process that can be killed: runs the episodes of one stored run until all
 * have ended, and says a line at each step of the protocol. Which runner dies in which frame follows from a seed.
 * Arguments: data folder, episodes, seed, address of the endpoint. Prints `ended` when nothing is left.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { openMachinery, runtime, SYSTEM_TEXT, verdictIdentityOn, verdictMemory } from "../../src/app-parts.ts";
import type { ExecOptions } from "../../src/core/exec.ts";
import type { Policy } from "../../src/core/policy.ts";
import { deriveSeed } from "../../src/core/random.ts";
import type { SandboxLease, SandboxPool } from "../../src/core/sandbox-pool.ts";
import type { Store } from "../../src/core/store.ts";
import type { Task } from "../../src/core/task.ts";
import { createEpisodeRunner } from "../../src/episode/run-episode.ts";
import { nopPolicy } from "../../src/policy/nop.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { shellTool } from "../../src/policy/tool/shell.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";
import { failureBudget } from "../../src/rollout/failure-budget.ts";
import { runReadyEpisodes } from "../../src/rollout/scheduler.ts";
import { groupSource, laySections } from "../../src/rollout/source.ts";
import { recipeSchema } from "../../src/run/recipe.ts";
import { openStore } from "../../src/store/open-store.ts";
import { readTaskFolder } from "../../src/task/read-folder.ts";
import { createVerifier } from "../../src/verifier/verifier.ts";
import { answerTaskOf, DRILL_RUN, isFolderTask, isRight, ROOT } from "./drill-tasks.ts";

const [folder = "", count = "0", seedText = "0", endpoint = ""] = process.argv.slice(2);
const episodes = Number(count);
const seed = Number(seedText);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
/** Uniform in [0, 1), one for each place and each session. */
const chance = (...parts: (string | number)[]): number => Number(deriveSeed(seed, ...parts) >> 11n) / 2 ** 53;

const folderTask = await readTaskFolder(join(ROOT, "tasks", "code-repair-python", "repair-python-statistics"));
const taskAt = (index: number): Task => (isFolderTask(index) ? folderTask : answerTaskOf(index));

function policyAt(index: number): Policy {
  if (isFolderTask(index)) return isRight(index) ? scriptPolicy(folderTask.oracle) : nopPolicy();
  return openaiPolicy({
    model: "drill",
    baseUrl: endpoint,
    keyVariable: null,
    temperature: 1,
    retriesMax: 1,
    backoffMs: 5,
    runtime,
  });
}

/** Says each claim and kills, in some gradings, the hidden tests' runner once it has sent so many frames. */
function drilled(pool: SandboxPool): SandboxPool {
  const claim: SandboxPool["claim"] = async (request, signal, options) => {
    say(`claim ${request.role}`);
    const lease = await pool.claim(request, signal, options);
    return request.role === "verifier" ? mortal(lease, request.attemptId) : lease;
  };
  return { ...pool, claim, stats: () => pool.stats() };
}

function mortal(lease: SandboxLease, attemptId: string): SandboxLease {
  const dies = chance("runner", attemptId);
  if (dies > 0.5) return lease;
  const frames = Math.floor(dies * 20);
  const exec: SandboxLease["exec"] = (command, options) => {
    const isRunner = Array.isArray(command) && command.some((word) => String(word).endsWith("test_runner.py"));
    return lease.exec(command, isRunner ? killedAt(lease, options, frames) : options);
  };
  return new Proxy(lease, {
    get: (target, name) => {
      if (name === "exec") return exec;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const KILL = `
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
    except OSError:
        continue
    if any(word.endswith(b"/test_runner.py") for word in words):
        os.kill(int(pid), 9)
`;

/** The runner is killed once the platform has read so many pieces of its report. */
function killedAt(lease: SandboxLease, options: ExecOptions, frames: number): ExecOptions {
  let seen = 0;
  const pipes = (options.pipes ?? []).map((pipe) => {
    if (pipe.fd !== 3 || !("onBytes" in pipe) || pipe.onBytes === undefined) return pipe;
    const { onBytes } = pipe;
    return {
      ...pipe,
      onBytes: (bytes: Uint8Array) => {
        onBytes(bytes);
        if (seen++ !== frames) return;
        say("kill runner");
        const how = { user: "verifier", timeoutMs: 10_000, outputBytesMax: 1_000 };
        void lease.exec(["/usr/bin/python3", "-I", "-S", "-c", KILL], how).catch(() => undefined);
      },
    };
  });
  return { ...options, pipes };
}

/** Says what is written, before and after. */
function told(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!["claim", "commit", "release"].includes(String(name))) return value.bind(target);
      return async (...args: unknown[]) => {
        say(`${String(name)} begins`);
        const answer: unknown = await Reflect.apply(value, target, args);
        say(`${String(name)} ends`);
        return answer;
      };
    },
  });
}

const { sandbox, scheduler } = recipeSchema.parse({});
const store = await openStore({ folder, runtime, mode: "owner" });
const machinery = openMachinery(sandbox, availableParallelism(), verdictMemory(), SYSTEM_TEXT);
const verifier = createVerifier({ runtime });
const runEpisode = createEpisodeRunner({
  pool: drilled(machinery.pool),
  verifier: {
    ...verifier,
    grade: async (request, pool) => {
      say("grade begins");
      const graded = await verifier.grade(request, pool);
      say("grade ends");
      return graded;
    },
  },
  verdicts: verdictMemory(),
  identity: verdictIdentityOn(machinery.images),
  tools: [shellTool(), submitTool()],
  systemText: SYSTEM_TEXT,
  runtime,
  code: { sandlot: "0.0.0", commit: null },
});

const known = await store.run(DRILL_RUN);
if (known === null) {
  await store.createRun({
    ...{ runId: DRILL_RUN, kind: "evaluate", state: "active", name: "drill", createdAt: runtime.now() },
    ...{ recipeHash: "", config: "{}" },
  });
}
await store.acquireRun(DRILL_RUN);
await store.reap(DRILL_RUN);
const [section] = laySections([
  { name: "drill", phase: "eval", mode: "sampled", split: "eval", groupCount: episodes, groupSize: 1 },
]);
if (section !== undefined)
  await store.plan(DRILL_RUN, groupSource(seed, (_, index) => taskAt(index)).plan(section, 0, episodes, 0));
const never = new AbortController().signal;
await runReadyEpisodes({
  runId: DRILL_RUN,
  store: told(store),
  runtime,
  runEpisode,
  // Each attempt that a kill ends counts as one, so there must be more than a session can use up.
  limits: { ...scheduler, episodesMax: 4, attemptsMax: 60, retryBaseMs: 5, retryMaxMs: 20 },
  budget: failureBudget({ failureShareMax: 1, failuresInRowMax: 100_000 }),
  groupTo: episodes,
  resolve: (lease) => {
    const index = lease.groupNo - 1;
    const isOracle = isFolderTask(index) && isRight(index);
    const extraFiles = isOracle ? folderTask.oracle.files : [];
    return { task: taskAt(index), policy: policyAt(index), taskSet: "drill", recipeHash: "", extraFiles };
  },
  onFinished: ({ episodeNo }) => say(`finished ${episodeNo}`),
  onFailed: (_lease, { failure }) => say(`failed ${failure}`),
  drain: never,
  abort: never,
});
await machinery.close();
await store.close();
say("ended");
process.exit(0);
