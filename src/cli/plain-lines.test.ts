import { expect, test } from "vitest";
import type { RunEvent } from "../core/events.ts";
import { plainLines } from "./plain-lines.ts";

function linesOf(events: readonly RunEvent[]): string[] {
  const lines: string[] = [];
  const sink = plainLines((line) => lines.push(line));
  for (const event of events) sink(event);
  return lines;
}

function progressAt(elapsedSeconds: number, done: number): RunEvent {
  return {
    kind: "progress-made",
    progress: {
      phase: "rl",
      done,
      total: 60,
      etaSeconds: 30,
      elapsedSeconds,
      episodes: done * 256,
      sandboxesPerSecond: 70,
      tokensPerSecond: null,
      metrics: {},
    },
  };
}

test("each result has its line, with the time since the start", () => {
  const lines = linesOf([
    { kind: "run-started", runId: "R", name: "first-light", folder: "/data", isResumed: false },
    progressAt(12.5, 1),
    { kind: "step-taken", phase: "rl", step: 1, metrics: { reward: 0.25, kl: 0.001, extra: 3 } },
    { kind: "checkpoint-saved", name: "rl-000001", step: 1 },
    { kind: "run-ended", runId: "R", state: "done" },
  ]);
  expect(lines.map((line) => line.trim())).toEqual([
    "0.0 s  starting first-light: run R in /data",
    "12.5 s  rl 1/60, 1.7 %, ETA 30.0 s, 256 episodes, 70.0 sandboxes/s",
    "12.5 s  rl step 1: reward 0.250, kl 0.001",
    "12.5 s  checkpoint rl-000001 saved",
    "12.5 s  run R done",
  ]);
});

test("progress four times a second does not flood a log", () => {
  const events = Array.from({ length: 400 }, (_, index) => progressAt(index / 4, 1));
  expect(linesOf(events).length).toBeLessThan(10);
});

test("episodes have no line of their own, and a hostile warning stays on one line", () => {
  const lines = linesOf([
    { kind: "episode-finished", episodeId: "R-1", outcome: "graded/completed", reward: 1 },
    { kind: "warning-raised", message: "two\nlines \u001b[31m" },
  ]);
  expect(lines.map((line) => line.trim())).toEqual(["0.0 s  warning: two\\nlines \\x1b[31m"]);
});
