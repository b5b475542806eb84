/**
 * What to run next, decided before anything runs: every group of a run has a number, a task and seeds that follow
 * from the run's seed alone. Planning a section twice therefore plans the same episodes, and a resumed run meets the
 * ones it already has.
 */
import { createHash, createHmac } from "node:crypto";
import { deriveSeed } from "../core/random.ts";
import type { GroupPlan } from "../core/store.ts";
import type { Task, TaskCell } from "../core/task.ts";

/** How answers are sampled in a section. */
export type SamplingMode = "sampled" | "greedy";

/** A block of groups with one purpose. Numbers run on from section to section, from 1. */
export interface Section {
  readonly name: string;
  readonly phase: "train" | "eval";
  readonly mode: SamplingMode;
  readonly split: string;
  readonly groupFirst: number;
  readonly groupCount: number;
  readonly groupSize: number;
  readonly episodeFirst: number;
}

export type SectionShape = Omit<Section, "groupFirst" | "episodeFirst">;

/** Numbers sections one after another; those with no groups are left out. */
export function laySections(shapes: readonly SectionShape[]): readonly Section[] {
  let groupFirst = 1;
  let episodeFirst = 1;
  return shapes
    .filter((shape) => shape.groupCount > 0)
    .map((shape) => {
      const section = { ...shape, groupFirst, episodeFirst };
      groupFirst += shape.groupCount;
      episodeFirst += shape.groupCount * shape.groupSize;
      return section;
    });
}

/** What a lease needs to find its task again; stored as JSON in the ledger. */
export interface TaskReference {
  readonly section: string;
  /** Position of the task in its split. */
  readonly index: number;
  /** Where a curriculum drew it from; absent without one. */
  readonly cell?: TaskCell;
}

export interface GroupSource {
  /**
   * Groups `from` to `to` (exclusive) of a section, counted from its first; `step` is what they are gathered for, and
   * `cells`, where there is a curriculum, what each of them is drawn from.
   */
  plan(
    section: Section,
    from: number,
    to: number,
    step: number,
    cells?: readonly TaskCell[] | null,
  ): readonly GroupPlan[];
}

/**
 * `taskAt(section, index, cell)` must be pure. Hidden inputs are keyed by HMAC-SHA-256 over split and index, so the episodes
 * of a group, and the evaluations before and after, are graded alike; equal run seeds give equal runs.
 */
export function groupSource(
  runSeed: number,
  taskAt: (section: Section, index: number, cell: TaskCell | null) => Task,
): GroupSource {
  const secret = createHash("sha256").update(`sandlot run secret ${runSeed}`).digest();
  const gradingSeed = (task: Task, split: string, index: number): bigint => {
    if (task.gradingSeed !== "fresh") return task.gradingSeed;
    const digest = createHmac("sha256", secret).update(`${split}:${index}:${task.key}`).digest();
    return digest.readBigUInt64LE(0);
  };
  return {
    plan: (section, from, to, step, cells = null) =>
      Array.from({ length: Math.max(0, Math.min(to, section.groupCount) - from) }, (_, offset) => {
        const index = from + offset;
        const cell = cells?.[offset] ?? null;
        const task = taskAt(section, index, cell);
        const reference: TaskReference = { section: section.name, index, ...(cell === null ? {} : { cell }) };
        return {
          groupNo: section.groupFirst + index,
          phase: section.phase,
          step,
          taskKey: task.key,
          taskHash: task.hash,
          taskRef: JSON.stringify(reference),
          split: section.split,
          gradingSeed: String(gradingSeed(task, section.split, index)),
          members: Array.from({ length: section.groupSize }, (_member, member) => ({
            episodeNo: section.episodeFirst + index * section.groupSize + member,
            member,
            samplingSeed: String(deriveSeed(runSeed, "sampling", section.name, index, member)),
          })),
        };
      }),
  };
}

/** The cell a stored reference names; null where no curriculum chose it. */
export function cellOfReference(taskRef: string): TaskCell | null {
  return (JSON.parse(taskRef) as TaskReference).cell ?? null;
}
