/** The supervised phase: the policy imitates generated demonstrations until it has a skill worth improving. */
import { deriveSeed, randomFrom } from "../core/random.ts";
import type { Recipe } from "./recipe.ts";
import { Stopped, type TrainContext } from "./train-context.ts";

/** Takes the steps from `from` on, then saves `sft-done` and makes it the reference and the first snapshot. */
export async function superviseRun(context: TrainContext, from: number): Promise<void> {
  const { recipe, trainer, weights, store, runId, board, onEvent, drain, abort } = context;
  const { sft } = recipe;
  const steps = sft.demonstrations === 0 ? 0 : sft.steps;
  const sequences = steps === 0 ? [] : context.demonstrations();
  board.enter("sft", steps, `${sequences.length} demonstrations`, from);
  for (let step = from + 1; step <= steps; step += 1) {
    const random = randomFrom(deriveSeed(recipe.seed, "sft-batch", step));
    const batch = Array.from({ length: Math.min(sft.batch, sequences.length) }, () => random.pick(sequences));
    const { metrics } = await trainer.superviseStep(batch, learningRateAt(step, steps, sft));
    board.advance();
    board.tokensTrained(metrics["num_tokens"] ?? 0);
    board.setMetrics({ loss: metrics["loss"] ?? Number.NaN });
    if (step % 20 === 0 || step === steps) {
      onEvent({ kind: "step-taken", phase: "sft", step, metrics });
      await store.addPoints(runId, [{ id: "sft/loss", step, value: metrics["loss"] ?? Number.NaN }]);
    }
    const isStopping = drain.aborted || abort.aborted;
    if (step < steps && (isStopping || step % sft.checkpointEverySteps === 0)) {
      await context.save(`sft-${String(step).padStart(6, "0")}`, { phase: "sft", step }, 0);
    }
    if (isStopping && step < steps) throw new Stopped(`stopped after supervised step ${step}`);
  }
  context.current = await weights.snapshot(0, { isReference: true });
  context.setReference(context.current);
  await context.save("sft-done", { phase: "sft", step: steps }, 0);
}

/** A short warm-up, then a straight line down: the skill forms late and must not be shaken off. */
function learningRateAt(step: number, steps: number, sft: Recipe["sft"]): number {
  const fallen = (1 - sft.learningRateEndShare) * step;
  return sft.learningRate * Math.min(1, step / sft.warmupSteps) * (1 - fallen / steps);
}
