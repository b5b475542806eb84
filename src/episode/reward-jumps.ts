/** Notices when a task that nobody solved is suddenly solved whole, so that its verdict is looked at twice. */
import { isSolved, type Task } from "../core/task.ts";

/** Graded episodes of a task that must have earned next to nothing before a full reward counts as a jump. */
const EPISODES_BEFORE = 8;
const LOW = 0.05;
const TASKS_MAX = 10_000;

/** Notices jumps; see the header. */
export interface RewardJumps {
  /** Counts a graded episode; true when its reward is a jump. */
  sees(task: Pick<Task, "key" | "threshold">, reward: number): boolean;
}

/** Remembers the tasks of one process. */
export function rewardJumps(): RewardJumps {
  const known = new Map<string, { episodes: number; best: number }>();
  return {
    sees(task, reward) {
      const before = known.get(task.key) ?? { episodes: 0, best: Number.NEGATIVE_INFINITY };
      if (known.size > TASKS_MAX) known.clear();
      known.set(task.key, { episodes: before.episodes + 1, best: Math.max(before.best, reward) });
      return before.episodes >= EPISODES_BEFORE && before.best <= LOW && isSolved(task, reward);
    },
  };
}
