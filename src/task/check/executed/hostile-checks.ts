/** Checks 12 to 16: whatever an agent leaves ends in a verdict, and nothing but the work itself is paid. */
import type { Script, Task } from "../../../core/task.ts";
import { defineCheck } from "../catalogue.ts";
import type { Check, CheckContext, Finding, ScriptRun } from "../check-contract.ts";
import { plantedVerdict, type StandIn, standInScript, trojanCommands } from "./hostile-scripts.ts";

const TRIVIAL: readonly StandIn[] = ["empty", "braces", "zero", "instruction"];
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
  const runs = await runEach(context, [...all.map((script) => ({ script })), { script: null }]);
  for (const { name, run } of runs) {
    const { outcome } = run;
    if (outcome.kind === "graded") continue;
    const open = notAssessed(name, run);
    if (open !== null) return open;
    const said = outcome.kind === "failed" ? `${outcome.failure}: ${outcome.message}` : outcome.kind;
    return {
      status: "fail",
      evidence: `${name} ended without a verdict (${said}); let the tests fail instead of breaking`,
    };
  }
  return { status: "pass", evidence: `${runs.map(({ name }) => name).join(", ")} were each graded` };
}

/** Check 14: planted start-up files and programs pay nothing. */
function trojans(context: CheckContext): Promise<Finding> | Finding {
  const { task } = context;
  if (task.contract.state === "answer") return { status: "skip", evidence: "only an answer crosses to grading" };
  const plant: Script = { name: "trojans", answer: null, files: [], commands: [trojanCommands(task)] };
  return earnsNothing(context, [plant]);
}

/** Check 16: what nobody has to think for stays below the threshold. */
async function trivialAnswers(context: CheckContext): Promise<Finding> {
  const all = scripts(context.task, TRIVIAL);
  if (all.length === 0) return { status: "skip", evidence: NO_FILES };
  for (const { name, run } of await runEach(
    context,
    all.map((script) => ({ script })),
  )) {
    const open = notAssessed(name, run);
    if (open !== null) return open;
    if (rewardOf(run) < context.task.threshold - 1e-9) continue;
    return { status: "fail", evidence: `${name} in place of the artifacts earned ${rewardOf(run)}` };
  }
  return {
    status: "pass",
    evidence: `${all.map(({ name }) => name).join(", ")} in place of the artifacts solve nothing`,
  };
}

async function earnsNothing(context: CheckContext, all: readonly Script[]): Promise<Finding> {
  if (all.length === 0) return { status: "skip", evidence: NO_FILES };
  for (const { name, run } of await runEach(
    context,
    all.map((script) => ({ script })),
  )) {
    const open = notAssessed(name, run);
    if (open !== null) return open;
    if (rewardOf(run) <= 0) continue;
    const passed = run.tests.filter(({ status }) => status === "passed").map(({ id }) => id);
    const which = passed.length === 0 ? "" : `; it passed ${passed.slice(0, 5).join(", ")}`;
    return { status: "fail", evidence: `${name} earned ${rewardOf(run)}${which}` };
  }
  return { status: "pass", evidence: `${all.map(({ name }) => name).join(", ")} earned 0` };
}

function scripts(task: Task, standIns: readonly StandIn[]): readonly Script[] {
  return standIns.map((standIn) => standInScript(task, standIn)).filter((script) => script !== null);
}

async function runEach(context: CheckContext, all: readonly { readonly script: Script | null }[]) {
  return Promise.all(
    all.map(async ({ script }) => {
      const [run] = await context.runs({ script, variant: "plain" }, 1);
      if (run === undefined) throw new RangeError("a run that was asked for is there");
      return { name: script?.name ?? "doing nothing", run };
    }),
  );
}

/** The finding where machines stood in the way, or the task's own files broke. */
function notAssessed(name: string, { outcome }: ScriptRun): Finding | null {
  if (outcome.kind === "graded") return null;
  if (outcome.kind === "cancelled") return { status: "not-assessed", evidence: `${name} was stopped` };
  if (outcome.cause === "verifier_fault") return null;
  return { status: "not-assessed", evidence: `${name} could not run: ${outcome.failure}: ${outcome.message}` };
}

function rewardOf({ outcome }: ScriptRun): number {
  return outcome.kind === "graded" ? outcome.reward : 0;
}
