import { renderToString } from "ink";
import { createElement } from "react";
import { expect, test } from "vitest";
import type { RunEvent, RunProgress } from "../core/events.ts";
import { BoardView, intervalRuler } from "./board.ts";
import { type BoardState, EMPTY_BOARD, nextBoard } from "./board-state.ts";

const progress: RunProgress = {
  phase: "rl",
  done: 12,
  total: 60,
  etaSeconds: 4_000,
  elapsedSeconds: 3_599,
  episodes: 123_456,
  sandboxesPerSecond: 78.14,
  tokensPerSecond: 12_345,
  metrics: { loss: -0.00012, kl: 0.0123, entropy: 1.234 },
};

const events: readonly RunEvent[] = [
  { kind: "run-started", runId: "01K8RA5X2M3N4P5Q6R7S8T9V0W", name: "first-light", folder: "/data", isResumed: true },
  { kind: "phase-entered", phase: "evaluate-before", total: 400, note: "400 held-out episodes" },
  {
    kind: "evaluation-finished",
    label: "before",
    step: 0,
    sampled: { passRate: 0.312, low: 0.269, high: 0.359, episodes: 400 },
    greedy: { passRate: 0.36, low: 0.31, high: 0.41, episodes: 400 },
  },
  { kind: "phase-entered", phase: "rl", total: 60, note: "60 steps" },
  { kind: "step-taken", phase: "rl", step: 1, metrics: { reward: 0.25 } },
  { kind: "step-taken", phase: "rl", step: 2, metrics: { reward: 0.5, loss: 0.1 } },
  { kind: "progress-made", progress },
  { kind: "episode-finished", episodeId: "x", outcome: "graded/completed", reward: 1 },
  { kind: "episode-finished", episodeId: "y", outcome: "failed/infra_during", reward: null },
  { kind: "warning-raised", message: "sandbox lost \u001b[2J" },
];

function draw(state: BoardState, columns: number): string {
  return renderToString(
    createElement(BoardView, { state, columns, kind: "train", words: "Ctrl-C once finishes the step." }),
    {
      columns,
    },
  );
}

const shown = events.reduce(nextBoard, EMPTY_BOARD);

test("the board shows phase, progress with time left, reward, held-out rate, loss, KL, entropy and rates", () => {
  const text = draw(shown, 100);
  for (const part of [
    "first-light",
    "(resumed)",
    "01K8RA5X2M3N4P5Q6R7S8T9V0W",
    "RL",
    "12/60",
    "20.0 %",
    "1 h 07 min",
  ]) {
    expect(text).toContain(part);
  }
  for (const part of ["0.500", "▁█", "0.312 [0.269, 0.359] of 400", "greedy 0.360", "-1.2e-4", "0.012", "1.234"]) {
    expect(text).toContain(part);
  }
  for (const part of ["78.1", "12,345", "123,456", "Ctrl-C once"]) expect(text).toContain(part);
});

test.each([40, 60, 80, 120, 300])("no line of the board is wider than a terminal of %i columns", (columns) => {
  for (const state of [EMPTY_BOARD, shown]) {
    for (const line of draw(state, columns).split("\n")) expect([...line].length).toBeLessThanOrEqual(columns);
  }
});

test("a warning that carries a control sequence shows it as text", () => {
  expect(draw(shown, 100)).toContain("sandbox lost \\x1b[2J");
});

test("the state counts outcomes, keeps the newest warnings and remembers how it ended", () => {
  const warnings = Array.from({ length: 9 }, (_, index): RunEvent => {
    return { kind: "warning-raised", message: `warning ${index}` };
  });
  const state = [...warnings, { kind: "run-ended", runId: "r", state: "halted" } as const].reduce(nextBoard, shown);
  expect(state.outcomes).toEqual({ "graded/completed": 1, "failed/infra_during": 1 });
  expect(state.warnings).toEqual(["warning 6", "warning 7", "warning 8"]);
  expect(state.warningCount).toBe(10);
  expect(draw(state, 100)).toContain("halted after");
});

test("an evaluation measured again replaces its line", () => {
  const again = nextBoard(shown, {
    kind: "evaluation-finished",
    label: "before",
    step: 0,
    sampled: { passRate: 0.5, low: 0.4, high: 0.6, episodes: 100 },
    greedy: null,
  });
  expect(again.evaluations).toHaveLength(1);
  expect(again.evaluations[0]?.sampled.passRate).toBe(0.5);
});

test("the ruler marks the rate inside its interval", () => {
  expect(intervalRuler({ passRate: 0.5, low: 0.25, high: 0.75 }, 9)).toBe("··━━●━━··");
  expect(intervalRuler({ passRate: 1, low: 0.9, high: 1 }, 5)).toBe("····●");
});

test("an evaluation shows no phases and no curves of training", () => {
  const view = createElement(BoardView, { state: shown, columns: 80, kind: "evaluate", words: "" });
  const text = renderToString(view, { columns: 80 });
  expect(text).toContain("episodes");
  expect(text).not.toMatch(/SFT|reward|loss|before/);
});
