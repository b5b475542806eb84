/** The held-out pass rates before and after reinforcement, on the same tasks with the same hidden inputs. */
import type { PassRate } from "../core/events.ts";
import { passRate } from "../core/statistics.ts";
import type { TrajectoryRow } from "../core/store.ts";
import { isSolved } from "../core/task.ts";
import type { Section } from "../rollout/source.ts";
import type { HeldOut } from "./report.ts";
import { Stopped, type TrainContext } from "./train-context.ts";

/** Runs the sections of one moment that are not done yet. Throws `Stopped` when told to stop before the end. */
export async function evaluateSections(context: TrainContext, moment: "before" | "after"): Promise<void> {
  const { recipe, store, runId, board, onEvent } = context;
  const sections = context.sections.filter((section) => section.name.startsWith(`${moment}-`));
  const total = sections.reduce((sum, section) => sum + section.groupCount, 0);
  let already = 0;
  for (const section of sections) already += (await sectionRows(context, section)).length;
  board.enter(moment === "before" ? "evaluate-before" : "evaluate-after", total, `${total} held-out episodes`, already);
  const step = moment === "before" ? 0 : recipe.rl.steps;
  const rates = new Map<string, PassRate>();
  for (const section of sections) {
    if (!(await context.gather(section, 0, section.groupCount, step))) throw new Stopped("stopped while evaluating");
    rates.set(section.name, sectionRate(context, await sectionRows(context, section), section));
  }
  const sampled = rates.get(`${moment}-sampled`);
  if (sampled === undefined) return;
  const greedy = rates.get(`${moment}-greedy`) ?? null;
  board.setMetrics({ [`eval/${moment}`]: sampled.passRate });
  await store.addPoints(runId, [{ id: "eval/pass_at_1", step, value: sampled.passRate }]);
  onEvent({ kind: "evaluation-finished", label: moment, step, sampled, greedy });
}

async function sectionRows(context: TrainContext, section: Section): Promise<readonly TrajectoryRow[]> {
  return context.store.episodes(context.runId, {
    groupFrom: section.groupFirst,
    groupTo: section.groupFirst + section.groupCount - 1,
  });
}

/** Pass rate over the graded episodes of a section; failed ones carry no reward and are not counted as misses. */
function sectionRate(context: TrainContext, rows: readonly TrajectoryRow[], section: Section): PassRate {
  const graded = rows.filter((row) => row.reward !== null);
  const solved = graded.filter((row) =>
    isSolved(context.taskAt(section.split, row.groupNo - section.groupFirst, null), row.reward ?? 0),
  );
  return passRate(solved.length, graded.length);
}

/** The pass rates before and after, read back from the store; null unless both sides were fully evaluated. */
export async function heldOutRates(context: TrainContext): Promise<HeldOut | null> {
  const rate = async (name: string): Promise<PassRate | null> => {
    const section = context.sections.find((candidate) => candidate.name === name);
    if (section === undefined) return null;
    const rows = await sectionRows(context, section);
    return rows.length < section.groupCount ? null : sectionRate(context, rows, section);
  };
  const [before, after] = [await rate("before-sampled"), await rate("after-sampled")];
  if (before === null || after === null) return null;
  return {
    before,
    after,
    greedyBefore: await rate("before-greedy"),
    greedyAfter: await rate("after-greedy"),
    hardBefore: await rate("before-hard"),
    hardAfter: await rate("after-hard"),
  };
}
