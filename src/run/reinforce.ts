/** The reinforcement phase: gather a batch under the newest policy, take one step, publish the next version. */
import { Failure } from "../core/errors.ts";
import type { FailedCause } from "../core/outcome.ts";
import type { MetricPoint, TrajectoryRow } from "../core/store.ts";
import { hasGradient, type StepReport } from "../core/training.ts";
import type { TurnRecord } from "../core/trajectory.ts";
import { type Collected, collectGroups, type FinishedMember } from "../rollout/collector.ts";
import type { Section } from "../rollout/source.ts";
import { type Quarantine, quarantineOf } from "./quarantine.ts";
import { Stopped, type TrainContext } from "./train-context.ts";

/** Takes the steps after `from`. Each is committed once, with the groups it consumed and the weights it made. */
export async function reinforce(context: TrainContext, from: number): Promise<void> {
  const { recipe, board, drain, abort } = context;
  const { rl } = recipe;
  board.enter("rl", rl.steps, `${rl.groupsPerBatch} groups of ${rl.groupSize} per step`, from);
  const section = context.sections.find((candidate) => candidate.name === "rl");
  for (let step = from + 1; step <= rl.steps && section !== undefined; step += 1) {
    const startedAt = context.runtime.monotonic();
    const isGathered = await context.gather(section, (step - 1) * rl.groupsPerBatch, step * rl.groupsPerBatch, step);
    if (!isGathered) {
      await saveAt(context, step - 1);
      throw new Stopped(`stopped while gathering step ${step}`);
    }
    await takeStep(context, section, step, (context.runtime.monotonic() - startedAt) / 1_000);
    board.advance();
    const isStopping = drain.aborted || abort.aborted;
    if (step % rl.checkpointEverySteps === 0 || step === rl.steps || isStopping) await saveAt(context, step);
    if (isStopping && step < rl.steps) throw new Stopped(`stopped after step ${step}`);
  }
}

async function saveAt(context: TrainContext, step: number): Promise<void> {
  if (step === 0) return;
  const name = `rl-${String(step).padStart(6, "0")}`;
  if ((await context.checkpoints()).includes(name)) return;
  await context.save(name, { phase: "rl", step }, step);
}

async function takeStep(context: TrainContext, section: Section, step: number, gatherSeconds: number): Promise<void> {
  const { store, runId, weights, trainer, onEvent, board, recipe } = context;
  const seconds = (): number => context.runtime.monotonic() / 1_000;
  const startedAt = seconds();
  const { members, quarantine, discards } = await finishedMembers(context, section, step);
  await pauseOnUnseen(context, quarantine, step);
  const readAt = seconds();
  const collected = collectGroups(members, recipe.rl.groupSize, context.advantages);
  refuseThinBatch(collected, recipe.rl.groupsPerBatch, step, runId);
  const batch = context.createBatch(step, collected.items);
  const report: StepReport = batch.items.length === 0 ? { step, metrics: {} } : await trainer.policyStep(batch);
  const snapshot = await weights.snapshot(step);
  context.current = snapshot;
  const trainedAt = seconds();
  await store.commitStep({
    runId,
    step,
    batchId: batch.id,
    groupNos: collected.groupNos,
    policyVersion: step,
    weightsSha256: snapshot.sha256,
  });
  const metrics: Record<string, number> = {
    ...report.metrics,
    ...groupMetrics(collected, report.metrics["reward_std"] ?? 0),
    "rollout/effective_episodes": batch.items.filter(hasGradient).length,
    "rollout/groups_abandoned": collected.groupsAbandoned,
    ...discards,
    "rollout/quarantined": quarantine.quarantined,
    "reward/findings_a": quarantine.findingsA,
    "reward/findings_b": quarantine.findingsB,
    step_time: seconds() - startedAt,
    "timing_s/gather": gatherSeconds,
    "timing_s/train": trainedAt - readAt,
    "timing_s/store": readAt - startedAt + (seconds() - trainedAt),
  };
  await store.addPoints(
    runId,
    Object.entries(metrics).map(([id, value]): MetricPoint => ({ id, step, value })),
  );
  board.tokensTrained(metrics["num_tokens"] ?? 0);
  board.setMetrics(metrics);
  onEvent({ kind: "step-taken", phase: "rl", step, metrics });
}

/** Over every group that could be trained on; the trainer saw only those with a gradient, whose mean spread is `std`. */
function groupMetrics(collected: Collected, std: number): Record<string, number> {
  const usable = collected.groups - collected.groupsAbandoned;
  const shareWithoutVariance = collected.groupsWithoutVariance / usable;
  return {
    reward: collected.reward,
    reward_std: std * (1 - shareWithoutVariance),
    frac_reward_zero_std: shareWithoutVariance,
  };
}

/** An optimizer step never uses a batch with fewer than half its planned groups (`reward.md` §1). */
function refuseThinBatch(collected: Collected, planned: number, step: number, runId: string): void {
  const usable = collected.groups - collected.groupsAbandoned;
  if (usable >= Math.ceil(planned / 2)) return;
  throw new Failure(
    "run_halted",
    `Step ${step} has only ${usable} of ${planned} planned groups with enough graded episodes; the run halted. ` +
      `See why they failed: sandlot run show ${runId}`,
  );
}

/** Leaves a checkpoint where the run can go on once a person has decided. */
async function pauseOnUnseen(context: TrainContext, quarantine: Quarantine, step: number): Promise<void> {
  try {
    quarantine.refuseUnseen(step);
  } catch (error) {
    await saveAt(context, step - 1);
    throw error;
  }
}

function turnRewardsOf(turns: readonly TurnRecord[]): readonly number[] {
  return turns.map((turn) => turn.milestones?.turnReward ?? 0);
}

async function finishedMembers(
  context: TrainContext,
  section: Section,
  step: number,
): Promise<{
  readonly members: readonly FinishedMember[];
  readonly quarantine: Quarantine;
  readonly discards: Readonly<Record<string, number>>;
}> {
  const { store, runId, recipe } = context;
  const groupFrom = section.groupFirst + (step - 1) * recipe.rl.groupsPerBatch;
  const rows = await store.episodes(runId, { groupFrom, groupTo: groupFrom + recipe.rl.groupsPerBatch - 1 });
  const quarantine = await quarantineOf(store, runId, rows);
  const members = await Promise.all(
    rows.map(async (row): Promise<FinishedMember> => {
      // A regrade that was adopted stands in for what the episode ended with.
      const reward = row.rewardAdopted ?? row.reward;
      const stored = reward === null ? null : await store.trajectory(runId, row.episodeNo);
      const outcome = stored?.document.outcome;
      const isExcluded = outcome?.kind === "graded" && outcome.cause === "cheating" && outcome.isExcluded;
      return {
        episodeId: `${runId}-${row.episodeNo}`,
        groupId: `${runId}-g${row.groupNo}`,
        groupNo: row.groupNo,
        member: row.member,
        reward,
        policyVersion: row.policyVersionFirst,
        trains: quarantine.trainsOf(row, isExcluded),
        segment: stored === null ? null : await stored.segment(),
        turnRewards: recipe.rl.credit === "turn" ? turnRewardsOf(stored?.document.turns ?? []) : [],
      };
    }),
  );
  return { members, quarantine, discards: discardShares(rows) };
}

/** Of the step's episodes, those that failed, by cause: a share that rises with the policy is one it may have a part in. */
function discardShares(rows: readonly Pick<TrajectoryRow, "cause">[]): Readonly<Record<string, number>> {
  const share = (wanted: FailedCause): number =>
    rows.filter(({ cause }) => cause === wanted).length / Math.max(1, rows.length);
  return {
    "rollout/discards_infra_before": share("infra_before"),
    "rollout/discards_infra_during": share("infra_during"),
    "rollout/discards_verifier_fault": share("verifier_fault"),
  };
}
