/**
 * Lets a curriculum choose what each step of a run is drawn from. What it knows is read from the stored episodes of the
 * steps before, so a resumed run chooses as it would have without the stop.
 */
import type { Store, TrajectoryRow } from "../core/store.ts";
import { isSolved, type Task, type TaskCell } from "../core/task.ts";
import { type CellResult, type CellView, curriculum } from "../rollout/curriculum.ts";
import { cellOfReference, type Section } from "../rollout/source.ts";
import type { Recipe } from "./recipe.ts";

export interface CellChooser {
  /** The cells of the groups of a step; the episodes of all steps before it must have ended. */
  choose(step: number, groups: number): Promise<readonly TaskCell[]>;
  cells(): readonly CellView[];
}

interface ChooserParts {
  readonly runId: string;
  readonly recipe: Recipe;
  readonly store: Store;
  readonly cells: readonly TaskCell[];
  readonly sections: readonly Section[];
  readonly taskAt: (split: string, index: number, cell: TaskCell | null) => Task;
}

export function cellChooser(parts: ChooserParts): CellChooser {
  const { recipe, store, runId, sections } = parts;
  const plan = curriculum(parts.cells, recipe.seed, recipe.curriculum);
  const section = sections.find(({ phase }) => phase === "train");
  let observed = 0;
  return {
    choose: async (step, groups) => {
      for (; observed < step - 1 && section !== undefined; observed += 1) {
        const groupFrom = section.groupFirst + observed * recipe.rl.groupsPerBatch;
        const rows = await store.episodes(runId, { groupFrom, groupTo: groupFrom + recipe.rl.groupsPerBatch - 1 });
        plan.observe(resultsOf(rows, section, parts));
      }
      return plan.choose(step, groups);
    },
    cells: plan.cells,
  };
}

/** Graded episodes by cell; what failed or was cancelled says nothing of the policy. */
function resultsOf(rows: readonly TrajectoryRow[], section: Section, { taskAt }: ChooserParts): readonly CellResult[] {
  const counts = new Map<string, { solved: number; unsolved: number }>();
  for (const row of rows) {
    const cell = cellOfReference(row.taskRef);
    const reward = row.rewardAdopted ?? row.reward;
    if (cell === null || reward === null) continue;
    const count = counts.get(cell.id) ?? { solved: 0, unsolved: 0 };
    if (isSolved(taskAt(section.split, row.groupNo - section.groupFirst, cell), reward)) count.solved += 1;
    else count.unsolved += 1;
    counts.set(cell.id, count);
  }
  return [...counts].map(([cellId, count]) => ({ cellId, ...count }));
}
