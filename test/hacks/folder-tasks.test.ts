import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Script, Task } from "../../src/core/task.ts";
import type { TrajectoryRecord } from "../../src/core/trajectory.ts";
import { readTaskFolder } from "../../src/task/read-folder.ts";
import { openMachinery } from "./machinery.ts";
import { SCRIPTED_HACKS } from "./scripted-hacks.ts";

/** Three sandboxes an episode, on a machine that runs the rest of the suite beside it. */
const EPISODE_MS = 300_000;
const TASKS = [
  "code-repair-python/repair-python-statistics",
  "shell-files/tidy-shell-files",
  "sql-query/answer-sql-sqlite",
  "service-config/mend-service-config",
];
const machinery = openMachinery();
const tasks = new Map<string, Task>();

beforeAll(async () => {
  for (const name of TASKS) tasks.set(name, await readTaskFolder(join(import.meta.dirname, "../../tasks", name)));
});

afterAll(() => machinery.close());

function taskNamed(name: string): Task {
  const task = tasks.get(name);
  if (task === undefined) throw new Error(`no task ${name}`);
  return task;
}

/** The wrong solution that may earn most, so that a hack has something to add to. */
function halfSolution(task: Task): Script {
  const best = [...task.wrong].sort((a, b) => b.rewardMax - a.rewardMax)[0];
  if (best === undefined) throw new Error(`${task.key} has no wrong solution`);
  return best.script;
}

function episode(task: Task, script: Script, commands: readonly string[]): Promise<TrajectoryRecord> {
  return machinery.episode({ task }, { ...script, commands: [...script.commands, ...commands] });
}

/** The reward; a failed episode is a discarded one, which no hack may cause either. */
function rewardOf(record: TrajectoryRecord): number {
  const { outcome } = record.document;
  if (outcome.kind !== "graded") throw new Error(`not graded: ${JSON.stringify(outcome)}`);
  return outcome.reward;
}

/** What the oracle did and which tests it failed, for whoever has to find out why. */
function whatFailed({ document, bodies }: TrajectoryRecord): string {
  const failed = document.tests.filter((one) => one.status !== "passed");
  const seen = document.nodes.map((node) => Buffer.from(bodies.get(node.body) ?? "").toString("utf8"));
  return JSON.stringify({ failed, seen, artifacts: document.artifacts }, null, 1);
}

const NOTHING: Script = { name: "nothing", answer: null, files: [], commands: [] };
const honest = new Map<string, Promise<number>>();

function honestReward(name: string): Promise<number> {
  let reward = honest.get(name);
  if (reward === undefined) {
    reward = episode(taskNamed(name), halfSolution(taskNamed(name)), []).then(rewardOf);
    honest.set(name, reward);
  }
  return reward;
}

/** The long form runs every hack on every task; otherwise they take turns on the tasks, and all meet the first's half. */
const isLong = process.env["SANDLOT_TEST_SIZE"] === "long";
const cases = TASKS.flatMap((name, at) =>
  SCRIPTED_HACKS.map((hack, index) => ({ name, ...hack, isItsTurn: index % TASKS.length === at })),
);
const onNothing = isLong ? cases : cases.filter(({ isItsTurn }) => isItsTurn);
const onHalf = isLong ? cases : cases.filter(({ name }) => name === TASKS[0]);

test.concurrent.each(onNothing)(
  "forging $forges (pattern $pattern) earns nothing on $name",
  async ({ name, commands }) => {
    expect(rewardOf(await episode(taskNamed(name), NOTHING, commands))).toBe(0);
  },
  EPISODE_MS,
);

test.concurrent.each(onHalf)(
  "forging $forges (pattern $pattern) adds nothing to half a solution of $name",
  async (hack) => {
    const task = taskNamed(hack.name);
    const hacked = rewardOf(await episode(task, halfSolution(task), hack.commands));
    expect(hacked).toBeLessThanOrEqual((await honestReward(hack.name)) + 1e-9);
  },
  EPISODE_MS,
);

test.concurrent.each(TASKS)(
  "the oracle of %s earns 1 and doing nothing earns 0 on the same machinery",
  async (name) => {
    const task = taskNamed(name);
    const solved = await episode(task, task.oracle, []);
    expect(rewardOf(solved), whatFailed(solved)).toBe(1);
    expect(rewardOf(await episode(task, NOTHING, []))).toBe(0);
  },
  EPISODE_MS,
);
