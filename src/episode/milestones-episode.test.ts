/** Milestones over whole episodes in real sandboxes: what is recorded, what is earned, and what looking must not leave behind. */
import { afterAll, expect, test } from "vitest";
import { greets, greetTask, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { namespaceEpisodes } from "../../test/support/namespace-episodes.ts";
import type { MilestoneSpec } from "../core/milestone.ts";
import type { TrajectoryRecord } from "../core/trajectory.ts";
import { scriptPolicy } from "../policy/oracle.ts";
import { detectEpisode } from "../verifier/detect/detect.ts";

const { runEpisode, close } = namespaceEpisodes(4, {
  verifier: ruleVerifier(greets),
  identity: ({ artifacts }) => artifacts.hash,
  detect: detectEpisode(),
});
afterAll(close);

const milestones: MilestoneSpec = {
  items: [
    { name: "draft", predicate: { kind: "file", path: "/work/draft", exists: true }, weight: 1, once: true },
    { name: "listens", predicate: { kind: "port", port: 9 }, weight: 1, once: true },
    {
      name: "answers",
      predicate: { kind: "http", url: "http://127.0.0.1:9/", status: 200 },
      weight: 1,
      once: true,
    },
    {
      name: "stored",
      predicate: { kind: "query", database: "/work/a.db", sql: "SELECT a FROM t", equals: 1 },
      weight: 1,
      once: true,
    },
  ],
  cap: 0.4,
  credit: "partial",
};

const DRAFT = "touch draft";
const STORE = `/usr/bin/python3 -c 'import sqlite3; c = sqlite3.connect("a.db"); c.execute("CREATE TABLE t AS SELECT 1 AS a"); c.commit()'`;
const SOLVE = "printf hello > out";

function record(commands: readonly string[], change: Partial<MilestoneSpec> = {}): Promise<TrajectoryRecord> {
  const policy = scriptPolicy({ name: "milestones", answer: null, files: [], commands });
  const task = greetTask({ milestones: { ...milestones, ...change } });
  return runEpisode(planOf(task, policy), new AbortController().signal);
}

function rewardOf({ document }: TrajectoryRecord): number | null {
  return document.outcome.kind === "graded" ? document.outcome.reward : null;
}

test("each turn is recorded with what it reached, and partial credit pays for it without the end", async () => {
  const half = await record([DRAFT, STORE, "rm draft a.db"]);
  expect(half.document.turns.map((turn) => turn.milestones?.share).slice(0, 3)).toEqual([0.25, 0.5, 0.5]);
  expect(half.document.turns[0]?.milestones?.states.map((state) => state.value)).toEqual([true, false, false, false]);
  expect(rewardOf(half)).toBeCloseTo(0.2, 12);
  expect(rewardOf(await record([DRAFT, SOLVE]))).toBe(1);
  expect(rewardOf(await record(["true"]))).toBe(0);
});

test("under shaping the turns are paid and the episode earns what its end is worth, to the bit", async () => {
  const half = await record([DRAFT, STORE], { credit: "shaping" });
  expect(half.document.turns.slice(0, 2).map((turn) => turn.milestones?.turnReward)).toEqual([0.1, 0.1]);
  expect(rewardOf(half)).toBe(0);
  expect(rewardOf(await record([DRAFT, SOLVE], { credit: "shaping" }))).toBe(1);
});

test("looking is no deed of the agent: it raises no finding, changes no file and leaves no process", async () => {
  const { document, bodies, findings } = await record([DRAFT, STORE]);
  expect(findings).toEqual([]);
  const evidence = JSON.parse(Buffer.from(bodies.get(document.evidenceBlob ?? "") ?? "null").toString());
  // What is left is the shell of the agent itself.
  expect(evidence.processes.map((each: { command: string }) => each.command)).toEqual([
    "/bin/bash --noprofile --norc -s",
  ]);
  const paths = evidence.changes.filter((change: { kind: string }) => change.kind === "file");
  expect(paths.map((change: { path: string }) => change.path).sort()).toEqual(["/work/a.db", "/work/draft"]);
});
