/** Checks 12 to 16: whatever an agent leaves ends in a verdict, and nothing but the work itself is paid. */
import type { Script, Task } from "../../../core/task.ts";
import { defineCheck } from "../catalogue.ts";
import type { Check, CheckContext, Finding, ScriptRun } from "../check-contract.ts";
import { plantedVerdict, type StandIn, standInScript, trojanCommands } from "./hostile-scripts.ts";

const TRIVIAL: readonly StandIn[] = ["empty", "braces", "zero", "instruction"];
const TOLERANCE = 1e-9;
const NO_FILES = "it collects a whole folder, and no file of it by name";

export const HOSTILE_CHECKS: readonly Check[] = [
  defineCheck("verdict-always", verdictAlways),
  defineCheck("reward-path", (context) => earnsNothing(context, [plantedVerdict()])),
  defineCheck("trojans", trojans),
  defineCheck("exit-and-skip", (context) => earnsNothing(context, scripts(context.task, ["exit-0"]))),
  defineCheck("trivial-answers", trivialAnswers),
];

/** Check 12: a crash, junk and a missing artifact are graded, never a fault of the verifier. */
async function verdictAlways(context: CheckContext): Promise<Finding> {
  const crash: Script = { name: "crash", answer: null, files: [], commands: ["kill -9 -1"] };
  const isActing = context.task.contract.state !== "answer";
  const all = [...(isActing ? [crash] : []), ...scripts(context.task, ["junk", "empty"])];
  const runs = await runEach(context, [...all, null]);
  const open = runs.map(unfinished).find((finding) => finding !== null);
  return open ?? { status: "pass", evidence: `${runs.map(({ name }) => name).join(", ")} were each graded` };
}

/** Check 14: planted start-up files and programs pass no test, and fail none beside a right solution. */
async function trojans(context: CheckContext): Promise<Finding> {
  const { task } = context;
  if (task.contract.state === "answer") return { status: "skip", evidence: "only an answer crosses to grading" };
  const plant: Script = { name: "trojans", answer: null, files: [], commands: [trojanCommands(task)] };
  const alone = await earnsNothing(context, [plant]);
  // Where the whole work folder is the product, what is planted there is part of it.
  if (alone.status !== "pass" || task.contract.state === "workdir") return alone;
  const { oracle } = task;
  const both: Script = {
    ...oracle,
    name: "the oracle beside trojans",
    commands: [...oracle.commands, ...plant.commands],
  };
  const [beside] = await runEach(context, [both]);
  const open = beside === undefined ? null : unfinished(beside);
  if (beside === undefined || open !== null) return open ?? alone;
  if (scored(beside.run) >= 1 - TOLERANCE)
    return { ...alone, evidence: `${alone.evidence}, and beside the oracle change no test` };
  return {
    status: "fail",
    evidence: `${beside.name} scored ${scored(beside.run)}: planted files change what tests say`,
  };
}

/** Check 16: what nobody has to think for stays below the threshold. */
function trivialAnswers(context: CheckContext): Promise<Finding> {
  return staysBelow(context, scripts(context.task, TRIVIAL), context.task.threshold);
}

/** Checks 13, 14 and 15: not one test passes for it. */
function earnsNothing(context: CheckContext, all: readonly Script[]): Promise<Finding> {
  return staysBelow(context, all, 2 * TOLERANCE);
}

async function staysBelow(context: CheckContext, all: readonly Script[], limit: number): Promise<Finding> {
  if (all.length === 0) return { status: "skip", evidence: NO_FILES };
  const runs = await runEach(context, all);
  for (const { name, run } of runs) {
    const open = unfinished({ name, run });
    if (open !== null) return open;
    if (scored(run) < limit - TOLERANCE) continue;
    const passed = run.tests.filter(({ status }) => status === "passed").map(({ id }) => id);
    const which = passed.length === 0 ? "" : `; it passed ${passed.slice(0, 5).join(", ")}`;
    return { status: "fail", evidence: `${name} in place of the work scored ${scored(run)}${which}` };
  }
  const most = Math.max(...runs.map(({ run }) => scored(run)));
  return { status: "pass", evidence: `${runs.map(({ name }) => name).join(", ")} scored ${most} at most` };
}

function scripts(task: Task, standIns: readonly StandIn[]): readonly Script[] {
  return standIns.map((standIn) => standInScript(task, standIn)).filter((script) => script !== null);
}

interface NamedRun {
  readonly name: string;
  readonly run: ScriptRun;
}

async function runEach(context: CheckContext, all: readonly (Script | null)[]): Promise<readonly NamedRun[]> {
  const runs = all.map(async (script) => {
    const run = await context.runs({ script, variant: "plain" }, 1);
    return run.map((one): NamedRun => ({ name: script?.name ?? "doing nothing", run: one }));
  });
  return (await Promise.all(runs)).flat();
}

/** Null for a graded run. What broke the verifier fails, what machines stood in the way of stays open. */
function unfinished({ name, run: { outcome } }: NamedRun): Finding | null {
  if (outcome.kind === "graded") return null;
  if (outcome.kind === "cancelled") return { status: "not-assessed", evidence: `${name} was stopped` };
  const told = `${outcome.failure}: ${outcome.message}`;
  if (outcome.cause !== "verifier_fault") return { status: "not-assessed", evidence: `${name} could not run: ${told}` };
  return {
    status: "fail",
    evidence: `${name} ended without a verdict (${told}); let the tests fail instead of breaking`,
  };
}

/** What the tests say, before findings: a planted file is punished anyway, and would hide that it works. */
function scored({ outcome, document }: ScriptRun): number {
  const reward = outcome.kind === "graded" ? outcome.reward : 0;
  return Math.max(reward, document?.verification?.total ?? 0);
}
