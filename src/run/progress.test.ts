import { expect, test } from "vitest";
import type { RunEvent } from "../core/events.ts";
import type { Outcome } from "../core/outcome.ts";
import { systemRuntime } from "../runtime/system.ts";
import { progressBoard } from "./progress.ts";

const graded: Outcome = {
  kind: "graded",
  cause: "completed",
  stopReason: "submitted",
  reward: 0.5,
  scores: [],
  isTruncated: false,
};
const failed: Outcome = { kind: "failed", cause: "infra_before", failure: "sandbox_lost", message: "gone" };

test("each episode that ends is counted once and told with its outcome, also one that failed", () => {
  const events: RunEvent[] = [];
  const board = progressBoard(
    systemRuntime(),
    (event) => events.push(event),
    () => 0,
  );
  board.episodeEnded({ id: "r-1", outcome: graded, tokens: { count: 9, sampledCount: 4 } });
  board.episodeEnded({ id: "r-2", outcome: failed, tokens: null });
  board.close();
  expect(events.filter(({ kind }) => kind === "episode-finished")).toEqual([
    { kind: "episode-finished", episodeId: "r-1", outcome: "graded/completed", reward: 0.5 },
    { kind: "episode-finished", episodeId: "r-2", outcome: "failed/infra_before", reward: null },
  ]);
  expect(events.at(-1)).toMatchObject({ kind: "progress-made", progress: { episodes: 2 } });
});

test("a phase that an earlier session began counts on from there, and its time left from what this session did", () => {
  const events: RunEvent[] = [];
  const board = progressBoard(
    systemRuntime(),
    (event) => events.push(event),
    () => 0,
  );
  board.enter("rl", 60, "", 40);
  expect(events.at(-1)).toMatchObject({ progress: { done: 40, total: 60, etaSeconds: null } });
  board.advance();
  board.close();
  expect(events.at(-1)).toMatchObject({ progress: { done: 41, etaSeconds: expect.any(Number) } });
});
