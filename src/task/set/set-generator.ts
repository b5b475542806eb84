/**
 * A task set as a generator, so that whatever takes a generator takes a set: training draws by weight, evaluation goes
 * through a split in order.
 */
import { Failure } from "../../core/errors.ts";
import { deriveSeed, randomFrom } from "../../core/random.ts";
import type { Task, TaskGenerator } from "../../core/task.ts";
import type { SetTask, TaskSet } from "./set-file.ts";

export function setGenerator(set: TaskSet): TaskGenerator {
  const bySplit = new Map<string, readonly SetTask[]>(Map.groupBy(set.tasks, ({ split }) => split));
  return {
    name: set.name,
    version: set.version,
    dials: {},
    splits: [...bySplit.keys()],
    demonstrations: null,
    alphabet: null,
    cells: (split) => (bySplit.get(split) ?? []).map(({ task }) => ({ id: task.key, family: task.family, dials: {} })),
    generate: ({ split, index, seed, cell }) => {
      const tasks = bySplit.get(split);
      if (tasks === undefined) {
        const known = [...bySplit.keys()].join(", ");
        throw new Failure("task_invalid", `${set.file}: the set has no split "${split}"; it has ${known}`);
      }
      const asked = cell === undefined ? undefined : tasks.find(({ task }) => task.key === cell);
      if (asked !== undefined) return asked.task;
      if (cell !== undefined) throw new Failure("task_invalid", `${set.file}: the split ${split} has no task ${cell}`);
      return split === "train" ? drawn(tasks, index, seed, set.name) : inOrder(tasks, index);
    },
  };
}

function inOrder(tasks: readonly SetTask[], index: number): Task {
  const one = tasks[index % tasks.length];
  if (one === undefined) throw new RangeError("a split is never empty");
  return one.task;
}

function drawn(tasks: readonly SetTask[], index: number, seed: bigint, name: string): Task {
  const total = tasks.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return inOrder(tasks, index);
  let left = randomFrom(deriveSeed(name, seed, index)).float() * total;
  for (const { task, weight } of tasks) {
    left -= weight;
    if (left < 0) return task;
  }
  return inOrder(tasks, tasks.length - 1);
}
