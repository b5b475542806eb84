/**
 * Which cells of a generator open when: first those with every dial at its lowest, then one step more of the dial that
 * has made the least difference so far, so that difficulty rises slowly.
 */
import { toFailure } from "../core/errors.ts";
import type { TaskCell, TaskGenerator } from "../core/task.ts";

export interface CellPlace extends TaskCell {
  /** Mean of its posterior. */
  readonly passRate: number;
}

/** Values of one dial that make cells of their own. */
const BUCKETS_MAX = 4;
const CELLS_MAX = 256;

/**
 * The cells of a generator: its own, or one for each combination of dial values that it can draw, at most four values a
 * dial and 256 cells in all.
 */
export function cellsOf(generator: TaskGenerator, split: string): readonly TaskCell[] {
  const own = generator.cells?.(split);
  if (own !== undefined) return own;
  let combined: Readonly<Record<string, number>>[] = [{}];
  for (const [dial, { min, max, step }] of Object.entries(generator.dials)) {
    const values = buckets(min, max, step);
    if (combined.length * values.length > CELLS_MAX) continue;
    combined = combined.flatMap((dials) => values.map((value) => ({ ...dials, [dial]: value })));
  }
  return combined
    .filter((dials) => canDraw(generator, split, dials))
    .map((dials) => ({ id: cellId(generator.name, dials), family: generator.name, dials }));
}

/** Some settings exclude each other, or belong to another split. */
function canDraw(generator: TaskGenerator, split: string, dials: Readonly<Record<string, number>>): boolean {
  try {
    generator.generate({ split, index: 0, seed: 0n, dials });
    return true;
  } catch (error) {
    if (toFailure(error).code === "task_invalid") return false;
    throw error;
  }
}

function cellId(name: string, dials: Readonly<Record<string, number>>): string {
  return [name, ...Object.entries(dials).map(([dial, value]) => `${dial}=${value}`)].join(" ");
}

function buckets(min: number, max: number, step: number): readonly number[] {
  const steps = Math.floor((max - min) / step + 1e-9);
  const count = Math.min(BUCKETS_MAX, steps + 1);
  if (count === 1) return [min];
  const at = (bucket: number): number => min + Math.round((bucket * steps) / (count - 1)) * step;
  return [...new Set(Array.from({ length: count }, (_, bucket) => at(bucket)))];
}

/** Of each family, fixed tasks and the cell with every dial lowest. */
export function openedFirst(cells: readonly TaskCell[]): ReadonlySet<string> {
  const lowest = (cell: TaskCell): boolean =>
    Object.entries(cell.dials).every(([dial, value]) =>
      cells.every((other) => other.family !== cell.family || (other.dials[dial] ?? value) >= value),
    );
  return new Set(cells.filter(lowest).map(({ id }) => id));
}

/** Closed cells one step above an opened one on the dial with the least effect; empty when nothing is left above. */
export function nextCells(opened: readonly CellPlace[], closed: readonly TaskCell[]): ReadonlySet<string> {
  const dials = [...new Set(closed.flatMap((cell) => Object.keys(cell.dials)))];
  const candidates = dials
    .map((dial) => ({ dial, effect: effectOf(dial, opened), ids: stepsUp(dial, opened, closed) }))
    .filter(({ ids }) => ids.length > 0)
    .sort((x, y) => x.effect - y.effect);
  return new Set(candidates[0]?.ids ?? []);
}

/** Mean fall of the pass rate from one opened value of a dial to the next, all others equal; 0 where none was tried. */
function effectOf(dial: string, opened: readonly CellPlace[]): number {
  const falls = opened.flatMap((low) =>
    opened.filter((high) => isStepUp(dial, low, high, opened)).map((high) => low.passRate - high.passRate),
  );
  return falls.length === 0 ? 0 : falls.reduce((sum, fall) => sum + fall, 0) / falls.length;
}

function stepsUp(dial: string, opened: readonly CellPlace[], closed: readonly TaskCell[]): readonly string[] {
  const all = [...opened, ...closed];
  return closed.filter((cell) => opened.some((low) => isStepUp(dial, low, cell, all))).map(({ id }) => id);
}

/** Whether `high` is `low` with this dial at the next value that any cell has. */
function isStepUp(dial: string, low: TaskCell, high: TaskCell, all: readonly TaskCell[]): boolean {
  const from = low.dials[dial];
  const to = high.dials[dial];
  if (from === undefined || to === undefined || to <= from) return false;
  const others = Object.keys(low.dials).filter((other) => other !== dial);
  if (others.some((other) => low.dials[other] !== high.dials[other])) return false;
  return !all.some(({ dials }) => (dials[dial] ?? from) > from && (dials[dial] ?? to) < to);
}
