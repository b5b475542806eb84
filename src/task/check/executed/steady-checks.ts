/**
 * Checks 5, 7, 9, 10, 11, 17, 21, 28, 42, 44 and 51: what the runs of the oracle and of the wrong solutions show when they
 * are looked at together.
 */
import type { ExecResult } from "../../../core/exec.ts";
import type { Script, Task } from "../../../core/task.ts";
import { defineCheck } from "../catalogue.ts";
import type { Check, CheckContext, Finding, ScriptRun } from "../check-contract.ts";
import { oraclePasses, oracleStable, wrongRejected } from "../script-findings.ts";
import { fileName, firstLine } from "../static/test-sources.ts";

const ORACLE_RUNS = { quick: 2, ci: 5, release: 20 };
const ORDERS = 3;
const LOAD = 4;
const LEVELS_MIN = 3;
const HALF = 0.5;

export const STEADY_CHECKS: readonly Check[] = [
  defineCheck("oracle-stable", async (context) =>
    oracleStable(await oracleRuns(context, ORACLE_RUNS[context.profile])),
  ),
  defineCheck("verifier-stable", verifierStable),
  defineCheck("test-order", testOrder),
  defineCheck("offline", offline),
  defineCheck("headroom", headroom),
  defineCheck("half-cpu", halfCpu),
  defineCheck("wrong-rejected", wrongOnes),
  defineCheck("oracle-honest", oracleHonest),
  defineCheck("egress-declared", egressDeclared),
  defineCheck("milestones-observable", milestonesObservable),
  defineCheck("contract-sufficient", contractSufficient),
  defineCheck("feedback-graded", feedbackGraded),
];

function oracleRuns(context: CheckContext, count: number): Promise<readonly ScriptRun[]> {
  return context.runs({ script: context.task.oracle, variant: "plain" }, count);
}

/** Check 6: what the oracle left, graded a second time in other sandboxes, gives the same verdict. */
async function verifierStable(context: CheckContext): Promise<Finding> {
  const { oracle, wrong } = context.task;
  const half = [...wrong].sort((a, b) => b.rewardMax - a.rewardMax)[0]?.script;
  for (const script of [oracle, ...(half === undefined ? [] : [half])]) {
    const [run] = await context.runs({ script, variant: "graded-twice", isGradedTwice: true }, 1);
    const { outcome } = run ?? {};
    if (outcome?.kind === "failed" && outcome.failure === "verdict_unstable") {
      return { status: "fail", evidence: outcome.message };
    }
    const again = run?.document?.extra["reverification"] as { readonly isEqual?: boolean } | undefined;
    if (again?.isEqual === false)
      return { status: "fail", evidence: `two gradings of what ${script.name} left differ` };
    if (again?.isEqual === true) continue;
    // What left nothing to grade has one verdict by rule.
    if (outcome?.kind === "graded" && outcome.reward === 0 && script !== oracle) continue;
    return { status: "not-assessed", evidence: `what ${script.name} left could not be graded twice` };
  }
  return { status: "pass", evidence: "the oracle's state and the best wrong one's were each graded twice alike" };
}

/** Check 7: the runners shuffle test files and classes by the grading seed, which is another in each repeat. */
async function testOrder(context: CheckContext): Promise<Finding> {
  const { task } = context;
  if (task.verifier.kind !== "tests") return { status: "skip", evidence: "its hidden inputs have no order" };
  const isShuffled = task.verifier.tiers.some(({ runner }) => ["unittest", "pytest"].includes(runner ?? "unittest"));
  if (!isShuffled)
    return { status: "skip", evidence: "its runners decide one file at a time, each in a state of its own" };
  if (task.gradingSeed !== "fresh") {
    return { status: "not-assessed", evidence: "its grading seed is pinned, and with it the order of its tests" };
  }
  const found = oraclePasses(task, await oracleRuns(context, ORDERS));
  return found.status === "pass" ? { status: "pass", evidence: `${ORDERS} orders of its tests agree` } : found;
}

/** Check 9: episodes of a task without a network have none, so the oracle's own runs are the proof. */
async function offline(context: CheckContext): Promise<Finding> {
  const { task } = context;
  if (task.network.mode !== "off") return { status: "skip", evidence: `it asks for a network (${task.network.mode})` };
  const found = oraclePasses(task, await oracleRuns(context, 1));
  return found.status === "pass" ? { status: "pass", evidence: "the oracle passed with the network cut" } : found;
}

/** Check 10: half of time and memory is left to whoever is slower than the oracle. */
async function headroom(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const runs = await oracleRuns(context, 2);
  const stopped = oraclePasses(task, runs);
  if (stopped.status !== "pass") return { ...stopped, status: "not-assessed" };
  for (const { document } of runs) {
    const toolMs = document?.timing.tool ?? 0;
    const verifyMs = document?.verification?.durationMs ?? 0;
    const memory = document?.resource?.memoryPeakBytes ?? 0;
    const tight = [
      ...(toolMs > HALF * task.limits.agentMs
        ? [`the oracle took ${seconds(toolMs)} of ${seconds(task.limits.agentMs)}`]
        : []),
      ...(verifyMs > HALF * task.limits.gradeMs
        ? [`grading took ${seconds(verifyMs)} of ${seconds(task.limits.gradeMs)}`]
        : []),
      ...(memory > HALF * task.resources.memoryBytes
        ? [`the oracle took ${mib(memory)} of ${mib(task.resources.memoryBytes)}`]
        : []),
    ];
    if (tight.length > 0) return { status: "fail", evidence: `${tight.join("; ")}; raise the limit in task.toml` };
  }
  return { status: "pass", evidence: "the oracle and its grading stay within half of their limits" };
}

/** Check 11: on half the processor, and beside three others, the oracle still passes. */
async function halfCpu(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const half: Task = { ...task, resources: { ...task.resources, cpus: task.resources.cpus / 2 } };
  const alone = await context.runs({ script: task.oracle, task: half, variant: "half-cpu" }, LOAD);
  const found = oraclePasses(task, alone);
  return found.status === "pass"
    ? { status: "pass", evidence: `${LOAD} oracles at once passed with ${half.resources.cpus} processors each` }
    : found;
}

/** Check 17: every shipped wrong solution fails as it says. */
async function wrongOnes(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const all = task.wrong.map(async (solution) => ({
    solution,
    runs: await context.runs({ script: solution.script, variant: "plain" }, context.profile === "release" ? 2 : 1),
  }));
  return wrongRejected(task, await Promise.all(all));
}

/** Check 21: the oracle's scripts name no test file, and its sandbox has none to read. */
async function oracleHonest(context: CheckContext): Promise<Finding> {
  const { task } = context;
  if (task.contract.state === "answer") return { status: "skip", evidence: "its oracle is an answer and runs nothing" };
  for (const { path, bytes } of task.oracle.files) {
    const hit = firstLine(new TextDecoder().decode(bytes), /(?:^|[\s"'=(])\/(?:tests|logs\/verifier)\b/);
    if (hit === null) continue;
    const file = fileName(task, path.replace(/^\//, ""));
    return {
      status: "fail",
      evidence: `${file}:${hit.line} reads what only the verifier has: ${hit.text}`,
      file,
      line: hit.line,
    };
  }
  const there = await context.withAgentSandbox(async (sandbox) =>
    said(
      await sandbox.exec("find /tests /logs/verifier -type f 2>/dev/null; true", {
        timeoutMs: 10_000,
        outputBytesMax: 10_000,
        cwd: "/",
      }),
    ),
  );
  if (there !== "") return { status: "fail", evidence: `${there} is in the agent's sandbox` };
  return { status: "pass", evidence: "the oracle names no test file, and there is none to read" };
}

/** Check 28: the sandbox that the oracle passed in had the network that is declared, and no wider one. */
async function egressDeclared(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const [run] = await oracleRuns(context, 1);
  if (run === undefined || run.outcome.kind !== "graded") {
    return { status: "not-assessed", evidence: "the oracle did not come to a verdict" };
  }
  // Who only answers opens no sandbox.
  const granted = run.document?.sandbox?.network ?? "off";
  const declared = task.network.mode;
  if (granted === declared) {
    return { status: "pass", evidence: `the oracle passed in a sandbox with the network that is declared: ${granted}` };
  }
  return {
    status: "fail",
    evidence: `the oracle's sandbox had the network ${granted}, and the task declares ${declared}`,
  };
}

/** Check 42: no milestone holds at the start or for doing nothing, and the oracle reaches each. */
async function milestonesObservable(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const names = task.milestones?.items.map(({ name }) => name) ?? [];
  if (names.length === 0) return { status: "skip", evidence: "it declares no milestones" };
  const [oracle] = await oracleRuns(context, 1);
  // Who does nothing at all opens no sandbox that could be looked at.
  const idle: Script = { name: "idle", answer: null, files: [], commands: ["true"] };
  const [nop] = await context.runs({ script: idle, variant: "plain" }, 1);
  const reached = reachedIn(oracle);
  if (reached === null) return { status: "not-assessed", evidence: "the oracle's milestones were not recorded" };
  const early = names.find((name) => reachedIn(nop)?.has(name));
  if (early !== undefined) return { status: "fail", evidence: `milestone ${early} holds for doing nothing` };
  const never = names.find((name) => !reached.has(name));
  if (never !== undefined) return { status: "fail", evidence: `the oracle never reaches milestone ${never}` };
  return { status: "pass", evidence: `the oracle reaches ${names.join(", ")}; doing nothing reaches none` };
}

/** Milestones that held after some turn; null for a run without a record. */
function reachedIn(run: ScriptRun | undefined): ReadonlySet<string> | null {
  if (!run?.document) return null;
  const states = run.document.turns.flatMap((turn) => turn.milestones?.states ?? []);
  return new Set(states.filter(({ value }) => value === true).map(({ name }) => name));
}

/** Check 44: gradings see the declared artifacts alone, so the oracle's full reward shows that they are enough. */
async function contractSufficient(context: CheckContext): Promise<Finding> {
  const found = oraclePasses(context.task, await oracleRuns(context, 1));
  if (found.status !== "pass") return found;
  const { contract } = context.task;
  const what = contract.state === "declared" ? `${contract.files.length} declared artifacts` : contract.state;
  return { status: "pass", evidence: `the oracle earned 1 from its ${what} alone, in sandboxes it never touched` };
}

/** Check 51: there is something between nothing and all. */
async function feedbackGraded(context: CheckContext): Promise<Finding> {
  const { task } = context;
  const scripts = [null, task.oracle, ...task.wrong.map(({ script }) => script)];
  const runs = await Promise.all(scripts.map((script) => context.runs({ script, variant: "plain" }, 1)));
  const rewards = runs.flat().flatMap(({ outcome }) => (outcome.kind === "graded" ? [outcome.reward] : []));
  if (rewards.length < scripts.length)
    return { status: "not-assessed", evidence: "not every solution came to a verdict" };
  const levels = [...new Set(rewards.map((reward) => reward.toFixed(3)))].sort();
  if (levels.length >= LEVELS_MIN) return { status: "pass", evidence: `solutions earn ${levels.join(", ")}` };
  const evidence = `all solutions earn ${levels.join(" or ")}; add tiers, tests or a half-right solution that shows a level between`;
  return { status: "fail", evidence };
}

function said(result: ExecResult): string {
  return new TextDecoder().decode(result.stdout).trim().split("\n").filter(Boolean).join(", ");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
