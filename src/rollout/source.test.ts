import { expect, test } from "vitest";
import type { Task } from "../core/task.ts";
import { groupSource, laySections } from "./source.ts";

const shapes = [
  { name: "before", phase: "eval", mode: "sampled", split: "held-out", groupCount: 3, groupSize: 1 },
  { name: "none", phase: "eval", mode: "greedy", split: "held-out", groupCount: 0, groupSize: 1 },
  { name: "rl", phase: "train", mode: "sampled", split: "train", groupCount: 4, groupSize: 2 },
  { name: "after", phase: "eval", mode: "sampled", split: "held-out", groupCount: 3, groupSize: 1 },
] as const;

const taskAt = (_section: unknown, index: number): Task =>
  ({ key: `local/t${index}`, hash: "h", gradingSeed: "fresh" }) as unknown as Task;

test("sections number their groups and episodes one after another, without gaps", () => {
  const sections = laySections(shapes);
  expect(sections.map((section) => [section.name, section.groupFirst, section.episodeFirst])).toEqual([
    ["before", 1, 1],
    ["rl", 4, 4],
    ["after", 8, 12],
  ]);
});

test("planning twice plans the same episodes, and members of a group have different sampling seeds", () => {
  const [, rl] = laySections(shapes);
  if (rl === undefined) throw new Error("no section");
  const first = groupSource(7, taskAt).plan(rl, 1, 3, 1);
  expect(groupSource(7, taskAt).plan(rl, 1, 3, 1)).toEqual(first);
  expect(first.map((group) => group.groupNo)).toEqual([5, 6]);
  const seeds = first.flatMap((group) => group.members.map((member) => member.samplingSeed));
  expect(new Set(seeds).size).toBe(4);
  expect(groupSource(8, taskAt).plan(rl, 1, 3, 1)).not.toEqual(first);
});

test("the same held-out task is graded on the same hidden inputs before and after training", () => {
  const [before, , after] = laySections(shapes);
  if (before === undefined || after === undefined) throw new Error("no section");
  const source = groupSource(7, taskAt);
  expect(source.plan(before, 0, 3, 0).map((group) => group.gradingSeed)).toEqual(
    source.plan(after, 0, 3, 9).map((group) => group.gradingSeed),
  );
});
