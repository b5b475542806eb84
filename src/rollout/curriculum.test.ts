import { expect, test } from "vitest";
import { generator as firstLight } from "../../tasks/generator/first-light/generator.ts";
import { greetTask } from "../../test/support/episode-parts.ts";
import { Failure } from "../core/errors.ts";
import { randomFrom } from "../core/random.ts";
import type { TaskCell, TaskGenerator } from "../core/task.ts";
import { betaAtMost, drawBeta } from "./beta.ts";
import { type Curriculum, curriculum } from "./curriculum.ts";
import { cellsOf } from "./curriculum-dials.ts";

const RULES = { bandLow: 0.2, bandHigh: 0.8, decay: 0.98 };
const GRID: readonly TaskCell[] = [1, 2, 3].flatMap((depth) =>
  [4, 8].map((width) => ({ id: `q depth=${depth} width=${width}`, family: "q", dials: { depth, width } })),
);
const FIXED: readonly TaskCell[] = ["a", "b", "c"].map((id) => ({ id, family: `family-${id}`, dials: {} }));

function stateOf(plan: Curriculum, id: string) {
  return plan.cells().find((cell) => cell.id === id)?.state;
}

function feed(plan: Curriculum, versions: number, solved: number, unsolved: number, ...cellIds: string[]) {
  for (let version = 0; version < versions; version += 1) {
    plan.observe(cellIds.map((cellId) => ({ cellId, solved, unsolved })));
  }
}

test("the distribution function agrees with values that can be worked out by hand", () => {
  expect(betaAtMost({ a: 1, b: 1 }, 0.3)).toBeCloseTo(0.3, 12);
  expect(betaAtMost({ a: 2, b: 1 }, 0.3)).toBeCloseTo(0.09, 12);
  // P(p <= x) for whole parameters is the upper tail of a binomial: 1 - (1-x)^3 - 3x(1-x)^2 for Beta(2, 2).
  expect(betaAtMost({ a: 2, b: 2 }, 0.8)).toBeCloseTo(3 * 0.64 - 2 * 0.512, 12);
  expect(betaAtMost({ a: 40, b: 2 }, 0.8)).toBeCloseTo(0.8 ** 41 + 41 * 0.8 ** 40 * 0.2, 12);
  expect(betaAtMost({ a: 700, b: 300 }, 0.7)).toBeCloseTo(0.5, 1);
});

test("draws have the mean and the spread of their distribution", () => {
  const random = randomFrom(5n);
  const draws = Array.from({ length: 4_000 }, (_, index) => drawBeta({ a: 3, b: 1.5 }, random.fork(`${index}`)));
  const mean = draws.reduce((sum, p) => sum + p, 0) / draws.length;
  expect(mean).toBeCloseTo(2 / 3, 1.5);
  expect(draws.filter((p) => p <= 0.5).length / draws.length).toBeCloseTo(betaAtMost({ a: 3, b: 1.5 }, 0.5), 1.5);
});

test("it begins with the easiest cell of each family, and opens the next when all that is open is easy", () => {
  const plan = curriculum(GRID, 1, RULES);
  expect(new Set(plan.choose(1, 50).map(({ id }) => id))).toEqual(new Set(["q depth=1 width=4"]));
  feed(plan, 5, 8, 0, "q depth=1 width=4");
  expect(stateOf(plan, "q depth=1 width=4")).toBe("easy");
  expect(
    plan
      .cells()
      .filter(({ state }) => state === "open")
      .map(({ id }) => id),
  ).toEqual(["q depth=2 width=4"]);
  feed(plan, 6, 8, 0, "q depth=2 width=4");
  // Neither dial has made a difference, so the one that was never moved is next.
  const open = plan.cells().filter(({ state }) => state === "open");
  expect(open.map(({ dials }) => dials["width"])).toEqual([8, 8]);
});

test("the dial that made the least difference rises first", () => {
  const plan = curriculum(GRID, 1, { ...RULES, decay: 1 });
  feed(plan, 8, 8, 0, "q depth=1 width=4");
  // Depth two is easy in the end, but was clearly harder on the way than depth one.
  feed(plan, 6, 7, 1, "q depth=2 width=4");
  feed(plan, 30, 8, 0, "q depth=2 width=4");
  expect(stateOf(plan, "q depth=2 width=4")).toBe("easy");
  expect(
    plan
      .cells()
      .filter(({ state }) => state === "open")
      .map(({ dials }) => dials["width"]),
  ).toContain(8);
});

test("solved and hopeless cells retire only on enough evidence, and failures of machines are no evidence", () => {
  const plan = curriculum(FIXED, 1, RULES);
  feed(plan, 3, 8, 0, "a");
  feed(plan, 7, 0, 8, "b");
  expect([stateOf(plan, "a"), stateOf(plan, "b"), stateOf(plan, "c")]).toEqual(["open", "open", "open"]);
  feed(plan, 2, 8, 0, "a");
  feed(plan, 2, 0, 8, "b");
  expect([stateOf(plan, "a"), stateOf(plan, "b"), stateOf(plan, "c")]).toEqual(["easy", "hard", "open"]);
  feed(plan, 50, 0, 0, "c");
  expect(plan.cells().find(({ id }) => id === "c")).toMatchObject({
    state: "open",
    episodes: 0,
    posterior: { a: 1, b: 1 },
  });
});

test("most groups go to cells in the band, shared by family; retired ones are probed now and then", () => {
  const cells = [...FIXED, { id: "a2", family: "family-a", dials: {} }];
  const plan = curriculum(cells, 1, RULES);
  feed(plan, 12, 8, 0, "c");
  feed(plan, 6, 4, 4, "a", "a2", "b");
  const counts = Object.groupBy(plan.choose(40, 4_000), ({ id }) => id);
  const share = (id: string) => (counts[id]?.length ?? 0) / 4_000;
  expect(share("c")).toBeGreaterThan(0.03);
  expect(share("c")).toBeLessThan(0.07);
  expect(share("b")).toBeGreaterThan(0.42);
  expect(share("a") + share("a2")).toBeGreaterThan(0.42);
});

test("one group in ten explores a cell of which little is known", () => {
  const plan = curriculum(FIXED, 1, { ...RULES, decay: 1 });
  feed(plan, 8, 3, 5, "a", "b");
  // Fifteen failures: nearly surely below the band, and not yet explored.
  feed(plan, 1, 0, 15, "c");
  const chosen = plan.choose(40, 4_000).filter(({ id }) => id === "c").length / 4_000;
  expect(chosen).toBeGreaterThan(0.12);
  expect(chosen).toBeLessThan(0.2);
});

test("a retired cell opens again when a probe puts it back in the band, or after twenty versions", () => {
  const plan = curriculum(FIXED, 1, RULES);
  feed(plan, 6, 8, 0, "a");
  feed(plan, 9, 0, 8, "b");
  expect([stateOf(plan, "a"), stateOf(plan, "b")]).toEqual(["easy", "hard"]);
  feed(plan, 4, 6, 2, "b");
  expect(stateOf(plan, "b")).toBe("open");
  feed(plan, 20, 0, 0, "c");
  const { state, posterior } = plan.cells().find(({ id }) => id === "a") ?? {};
  expect(state).toBe("open");
  expect((posterior?.a ?? 0) + (posterior?.b ?? 0)).toBeLessThan(5);
});

test("equal seeds and results choose equal cells, whatever was asked before", () => {
  const [one, other] = [curriculum(FIXED, 3, RULES), curriculum(FIXED, 3, RULES)];
  one.choose(1, 100);
  feed(one, 2, 3, 5, "a", "b");
  feed(other, 2, 3, 5, "a", "b");
  expect(one.choose(3, 32)).toEqual(other.choose(3, 32));
});

test("the cells of a generator are its own, or its dials' combinations that it can draw", () => {
  expect(cellsOf(firstLight, "train").map(({ dials }) => dials["steps"])).toEqual([1, 2, 3]);
  const dials = { a: { min: 0, max: 9, step: 1, meaning: "x" }, b: { min: 1, max: 2, step: 1, meaning: "y" } };
  const generate: TaskGenerator["generate"] = ({ dials: { a = 0, b = 0 } = {} }) => {
    if (a + b > 10) throw new Failure("task_invalid", "too much");
    return greetTask();
  };
  const { cells: _own, ...plain } = firstLight;
  const cells = cellsOf({ ...plain, name: "g", dials, generate }, "train");
  expect(cells.map(({ id }) => id)).toEqual([
    ...["g a=0 b=1", "g a=0 b=2", "g a=3 b=1", "g a=3 b=2", "g a=6 b=1", "g a=6 b=2", "g a=9 b=1"],
  ]);
});

test("a generator of many dials has no more cells than can be told apart", () => {
  const dial = { min: 1, max: 4, step: 1, meaning: "x" };
  const dials = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, dial]));
  const { cells: _own, ...plain } = firstLight;
  const cells = cellsOf({ ...plain, name: "g", dials, generate: () => greetTask() }, "train");
  // Four dials of four values; the fifth is left to the draw.
  expect(cells).toHaveLength(256);
  expect(Object.keys(cells[0]?.dials ?? {})).toEqual(["a", "b", "c", "d"]);
});
