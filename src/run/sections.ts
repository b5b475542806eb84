/** The blocks of episodes a training run consists of, numbered before it starts. */
import { Failure } from "../core/errors.ts";
import { laySections, type Section } from "../rollout/source.ts";
import type { Recipe } from "./recipe.ts";

export function trainSections(recipe: Recipe): readonly Section[] {
  const { evaluation, tasks, rl } = recipe;
  const held = (moment: "before" | "after") =>
    [
      { name: `${moment}-sampled`, mode: "sampled", split: tasks.heldOut, groupCount: evaluation.episodes },
      {
        name: `${moment}-greedy`,
        mode: "greedy",
        split: tasks.heldOut,
        groupCount: evaluation.isGreedyReported ? evaluation.episodes : 0,
      },
      {
        name: `${moment}-hard`,
        mode: "sampled",
        split: tasks.heldOutHard,
        groupCount: tasks.heldOutHard === "" ? 0 : evaluation.episodes,
      },
    ] as const;
  return laySections([
    ...held("before").map((section) => ({ ...section, phase: "eval" as const, groupSize: 1 })),
    {
      name: "rl",
      phase: "train",
      mode: "sampled",
      split: tasks.train,
      groupCount: rl.steps * rl.groupsPerBatch,
      groupSize: rl.groupSize,
    },
    ...held("after").map((section) => ({ ...section, phase: "eval" as const, groupSize: 1 })),
  ]);
}

/** The section a group belongs to. */
export function sectionOf(sections: readonly Section[], groupNo: number): Section {
  const found = sections.find(
    (section) => groupNo >= section.groupFirst && groupNo < section.groupFirst + section.groupCount,
  );
  if (found === undefined) throw new Failure("unexpected", `Group ${groupNo} belongs to no section of the run.`);
  return found;
}
