/**
 * The closed loop: supervised start → held-out pass rate → (rollout → batch → step)… → held-out pass rate again.
 * A run can be killed anywhere: it goes on from its last checkpoint, meets the episodes it already has, and reaches
 * the state it would have reached. Everything it needs is handed in; adapters are picked in `app.ts`.
 */
import { Failure } from "../core/errors.ts";
import { evaluateSections } from "./held-out.ts";
import { progressBoard } from "./progress.ts";
import { reinforce } from "./reinforce.ts";
import type { TrainSummary } from "./report.ts";
import { summarize } from "./summarize.ts";
import { superviseRun } from "./supervise.ts";
import { readTotals, writeTotals } from "./totals.ts";
import { type CheckpointState, Stopped, type TrainContext, type TrainParts, trainContext } from "./train-context.ts";

/** Ends `done`, or `stopped` by a signal, or `halted` by the failure budget; the summary says which. Other errors throw. */
export async function train(parts: TrainParts): Promise<TrainSummary> {
  const { store, runId, recipe, runtime, onEvent } = parts;
  const board = progressBoard(runtime, onEvent, parts.sandboxesCreated);
  const context = trainContext(parts, board, await readTotals(store, runId));
  onEvent({ kind: "run-started", runId, name: recipe.name, folder: parts.dataFolder, isResumed: parts.isResumed });
  let state: TrainSummary["state"] = "done";
  let reason: string | null = null;
  try {
    await store.updateRun(runId, { state: "active", reason: null });
    if (parts.isResumed) await store.reap(runId);
    await runPhases(context);
  } catch (error) {
    const isHalt = error instanceof Failure && error.code === "run_halted";
    if (!(error instanceof Stopped) && !isHalt) {
      await store.updateRun(runId, { state: "halted", reason: error instanceof Error ? error.message : String(error) });
      throw error;
    }
    state = isHalt ? "halted" : "stopped";
    reason = error.message;
  } finally {
    board.close();
  }
  await writeTotals(store, runId, context.totals());
  const summary = await summarize(context, { state, reason });
  await store.updateRun(runId, { state, reason, summary: JSON.stringify(summary) });
  onEvent({ kind: "run-ended", runId, state });
  return summary;
}

async function runPhases(context: TrainContext): Promise<void> {
  const resumeAt = await restore(context);
  if (resumeAt.phase === "sft") await superviseRun(context, resumeAt.step);
  await evaluateSections(context, "before");
  await reinforce(context, resumeAt.phase === "rl" ? resumeAt.step : 0);
  await evaluateSections(context, "after");
}

/** Loads the newest checkpoint, if any; the reference is always the end of the supervised phase. */
async function restore(context: TrainContext): Promise<CheckpointState> {
  const { weights, store, runId } = context;
  const names = context.isResumed ? await context.checkpoints() : [];
  const newest = names.at(-1);
  if (newest === undefined) return { phase: "sft", step: 0 };
  if (newest.startsWith("rl-")) {
    await loadOr(context, "sft-done", false, "It is the reference of this run, which cannot go on without it.");
    context.setReference(await weights.snapshot(0, { isReference: true }));
  }
  const loaded = await loadOr(context, newest, true, wayOn(runId, newest, names));
  if (!loaded.isBitEqual) {
    throw new Failure(
      "policy_checkpoint_mismatch",
      `Checkpoint ${newest} was written by another build or thread count of the engine, so the run would not go on as it ` +
        "began. Resume on the machine it was started on, or start a new run.",
    );
  }
  const state = loaded.state as CheckpointState;
  const version = state.phase === "rl" ? state.step : 0;
  context.current = await weights.snapshot(version, { isReference: newest === "sft-done" });
  if (newest === "sft-done") context.setReference(context.current);
  if (state.phase === "rl" || newest === "sft-done") await store.rollBack(runId, state.phase === "rl" ? state.step : 0);
  return newest === "sft-done" ? { phase: "rl", step: 0 } : state;
}

/** Loads a checkpoint; when it cannot be used, the failure also says how this run can still go on. */
async function loadOr({ weights }: TrainContext, name: string, optimizer: boolean, remedy: string) {
  try {
    return await weights.load(name, { optimizer });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.code, `${error.message} ${remedy}`, { cause: error });
  }
}

function wayOn(runId: string, newest: string, names: readonly string[]): string {
  const earlier = names.at(-2);
  const from = earlier === undefined ? "from its beginning" : `from ${earlier}`;
  return `With ${newest} moved out of that folder, this goes on ${from}: sandlot run resume ${runId}`;
}
