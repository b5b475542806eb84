/**
 * The curriculum: which cell of the supply each group is drawn from. A cell keeps a Beta posterior of its pass rate;
 * groups go to cells whose rate is neither near 0 nor near 1, since only there do siblings differ. Cells that are solved
 * or hopeless retire, are probed now and then, and open again when the policy has changed.
 *
 * All of it is a pure function of the seed and of the graded episodes so far, so a resumed run goes on as it would have.
 */
import { deriveSeed, type Random, randomFrom } from "../core/random.ts";
import type { TaskCell } from "../core/task.ts";
import { type Beta, betaAtMost, drawBeta } from "./beta.ts";
import { type CellPlace, nextCells, openedFirst } from "./curriculum-dials.ts";

/** Graded episodes of one cell under one policy version; failed and cancelled ones are in neither count. */
export interface CellResult {
  readonly cellId: string;
  readonly solved: number;
  readonly unsolved: number;
}

export interface CurriculumRules {
  /** Wanted pass rates. */
  readonly bandLow: number;
  readonly bandHigh: number;
  /** What old evidence is worth after one more policy version. */
  readonly decay: number;
}

/** `closed`: not opened yet. `easy` and `hard`: retired. */
export type CellState = "open" | "closed" | "easy" | "hard";

/** What is known of one cell. */
export interface CellView extends TaskCell {
  readonly state: CellState;
  readonly posterior: Beta;
  /** Graded episodes ever. */
  readonly episodes: number;
}

export interface Curriculum {
  /** The cells of the groups of a step, in order. Pure: asked again, it answers alike. */
  choose(step: number, groups: number): readonly TaskCell[];
  /** Takes the results of one policy version, in order of versions, each once. */
  observe(results: readonly CellResult[]): void;
  cells(): readonly CellView[];
}

const EXPLORE_SHARE = 0.1;
const PROBE_SHARE = 0.05;
const EXPLORED_EPISODES = 16;
const EASY_EPISODES = 32;
const HARD_EPISODES = 64;
const SURE = 0.95;
const REOPEN_CHANCE = 0.5;
/** Policy versions after which a retired cell opens again by itself, and the weight its posterior is widened to. */
const SHUT_VERSIONS = 20;
const WIDENED_WEIGHT = 4;

interface Cell {
  readonly place: TaskCell;
  state: CellState;
  a: number;
  b: number;
  episodes: number;
  /** Version at which it retired. */
  shutAt: number;
}

export function curriculum(cells: readonly TaskCell[], seed: number, rules: CurriculumRules): Curriculum {
  const first = openedFirst(cells);
  const all = cells.map(
    (place): Cell => ({ place, state: first.has(place.id) ? "open" : "closed", a: 1, b: 1, episodes: 0, shutAt: 0 }),
  );
  const byId = new Map(all.map((cell) => [cell.place.id, cell]));
  let version = 0;
  return {
    choose: (step, groups) =>
      Array.from({ length: groups }, (_, group) => {
        const random = randomFrom(deriveSeed(seed, "curriculum", step, group));
        return chosen(all, rules, random).place;
      }),
    observe: (results) => {
      version += 1;
      for (const cell of all) {
        cell.a = 1 + (cell.a - 1) * rules.decay;
        cell.b = 1 + (cell.b - 1) * rules.decay;
      }
      for (const { cellId, solved, unsolved } of results) {
        const cell = byId.get(cellId);
        if (cell === undefined) continue;
        cell.a += solved;
        cell.b += unsolved;
        cell.episodes += solved + unsolved;
      }
      for (const cell of all) settle(cell, version, rules);
      openNext(all);
    },
    cells: () => all.map(({ place, state, a, b, episodes }) => ({ ...place, state, posterior: { a, b }, episodes })),
  };
}

function chosen(all: readonly Cell[], { bandLow, bandHigh }: CurriculumRules, random: Random): Cell {
  const open = all.filter(({ state }) => state === "open");
  const retired = all.filter(({ state }) => state === "easy" || state === "hard");
  const unexplored = open.filter(({ episodes }) => episodes < EXPLORED_EPISODES);
  const share = random.fork("share").float();
  if (retired.length > 0 && (share < PROBE_SHARE || open.length === 0)) return random.fork("probe").pick(retired);
  if (unexplored.length > 0 && share < PROBE_SHARE + EXPLORE_SHARE) return random.fork("explore").pick(unexplored);
  const drawn = open.map((cell) => ({ cell, p: drawBeta(cell, random.fork(`p:${cell.place.id}`)) }));
  const inBand = drawn.filter(({ p }) => p >= bandLow && p <= bandHigh).map(({ cell }) => cell);
  if (inBand.length === 0) return nearest(drawn, (bandLow + bandHigh) / 2);
  const families = [...new Set(inBand.map(({ place }) => place.family))];
  const family = random.fork("family").pick(families);
  return random.fork("cell").pick(inBand.filter(({ place }) => place.family === family));
}

function nearest(drawn: readonly { readonly cell: Cell; readonly p: number }[], middle: number): Cell {
  const [best] = [...drawn].sort((x, y) => Math.abs(x.p - middle) - Math.abs(y.p - middle));
  if (best === undefined) throw new RangeError("a curriculum has at least one cell");
  return best.cell;
}

/** Retires a cell that is surely out of the band, and opens one that is probably back in it. */
function settle(cell: Cell, version: number, { bandLow, bandHigh }: CurriculumRules): void {
  const below = betaAtMost(cell, bandLow);
  const above = 1 - betaAtMost(cell, bandHigh);
  if (cell.state === "open") {
    if (above > SURE && cell.episodes >= EASY_EPISODES) retire(cell, "easy", version);
    else if (below > SURE && cell.episodes >= HARD_EPISODES) retire(cell, "hard", version);
    return;
  }
  if (cell.state === "closed") return;
  if (1 - below - above > REOPEN_CHANCE) cell.state = "open";
  else if (version - cell.shutAt >= SHUT_VERSIONS) {
    const weight = cell.a + cell.b;
    cell.a = (cell.a / weight) * WIDENED_WEIGHT;
    cell.b = (cell.b / weight) * WIDENED_WEIGHT;
    cell.state = "open";
  }
}

function retire(cell: Cell, state: "easy" | "hard", version: number): void {
  cell.state = state;
  cell.shutAt = version;
}

/** When all that was opened of a family is easy, the next harder cells open. */
function openNext(all: readonly Cell[]): void {
  for (const family of new Set(all.map(({ place }) => place.family))) {
    const cells = all.filter(({ place }) => place.family === family);
    const opened = cells.filter(({ state }) => state !== "closed");
    if (opened.some(({ state }) => state !== "easy")) continue;
    const places = opened.map(({ place, a, b }): CellPlace => ({ ...place, passRate: a / (a + b) }));
    const next = nextCells(
      places,
      cells.filter(({ state }) => state === "closed").map(({ place }) => place),
    );
    for (const cell of cells) if (next.has(cell.place.id)) cell.state = "open";
  }
}
