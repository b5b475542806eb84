import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { StoredTrajectory } from "../core/store.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { episodeAsked } from "./episode.ts";
import { episodeJson, episodeReplay } from "./episode-replay.ts";

const plain = { paint: (_style: string, text: string) => text };

/** A stored episode of one turn: the policy lists a folder, then submits a wrong answer. */
function storedEpisode(change: Partial<Trajectory> = {}): StoredTrajectory {
  const bodies = new Map<string, Uint8Array>();
  const body = (text: string): string => {
    const bytes = new TextEncoder().encode(text);
    const hash = createHash("sha256").update(bytes).digest("hex");
    bodies.set(hash, bytes);
    return hash;
  };
  const document: Trajectory = {
    schemaVersion: "1.1",
    id: "RUN-12",
    runId: "RUN",
    groupId: "RUN-g3",
    member: 4,
    attempt: 1,
    fence: 1,
    startedAt: Date.UTC(2026, 2, 1),
    task: {
      key: "sandlot/repair",
      hash: "h",
      agentHash: "a",
      verifierHash: "v",
      taskSet: "tasks",
      family: "repair",
      split: "held-out",
      generator: null,
    },
    agent: { name: "sandlot", version: "0.1.0", toolsHash: "t", promptHash: "p" },
    policy: {
      name: "embedded",
      backend: "embedded",
      sampling: { temperature: 1, topP: 1, topK: 0, tokensMax: 40, logprobs: "raw" },
      versionFirst: 3,
      versionLast: 3,
    },
    seeds: { task: "1", sampling: "2", verifier: "3" },
    code: { sandlot: "0.1.0", commit: null, recipeHash: "r" },
    sandbox: null,
    turns: [
      {
        index: 1,
        actionNode: "n2",
        observationNodes: ["n3"],
        textBlob: body("I look around. \u001b]0;owned\u0007"),
        responseBlob: null,
        toolCalls: [
          {
            id: "c1",
            name: "shell",
            argumentsRaw: '{"command":"ls -la\\ncat a"}',
            arguments: { command: "ls -la\ncat a" },
            parseError: null,
            observation: {
              contentBlob: body("file\u001b[2J one\nexit 1 · 2.3 s"),
              rawBlob: body("raw"),
              bytes: 3,
              truncatedBytes: 1_234,
            },
            exitCode: 1,
            timedOut: true,
            oomKilled: false,
            isInvalid: false,
            durationMs: 2_300,
          },
        ],
        policyVersion: 3,
        sampledTokens: 17,
        modelMs: 40,
        toolMs: 2_300,
        layerBlob: null,
        milestones: null,
        budgetLeft: { turns: 9, tokens: 100, agentMs: 1_000 },
      },
    ],
    nodes: [{ hash: "n1", parent: null, role: "user", sampled: false, body: body("Repair the mean.") }],
    branches: [{ leaf: "n3", reason: "main", trainable: true }],
    tokens: null,
    outcome: {
      kind: "graded",
      cause: "completed",
      stopReason: "submitted",
      reward: 0.4,
      scores: [
        { verifier: "tests", name: "unit", value: 1, weight: 0.4, tier: "unit", visibility: "hidden", gate: false },
        {
          verifier: "tests",
          name: "boundary",
          value: 0,
          weight: 0.6,
          tier: "boundary",
          visibility: "hidden",
          gate: true,
        },
      ],
      isTruncated: false,
    },
    tests: [
      { id: "unit/one", tier: "unit", visibility: "hidden", status: "passed", durationMs: 1, detail: "" },
      {
        id: "boundary/empty",
        tier: "boundary",
        visibility: "hidden",
        status: "failed",
        durationMs: 1,
        detail: "got \u001b[31mNone",
      },
    ],
    verification: null,
    artifacts: [],
    answerBlob: body("return sum(x)"),
    collected: { missing: [], visible: [], refused: [] },
    placed: [],
    evidenceBlob: null,
    timing: { model: 40, tool: 2_300, verify: 120 },
    resource: null,
    extra: {},
    ...change,
  };
  return {
    document,
    body: async (hash) => bodies.get(hash) ?? Promise.reject(new Error(`no body ${hash}`)),
    segment: async () => null,
  };
}

test("a replay tells instruction, action, observation, verdict by tier, failing tests, reward and outcome", async () => {
  const text = await episodeReplay(storedEpisode(), plain);
  for (const part of [
    "Repair the mean.",
    "I look around.",
    "shell › ls -la\n    cat a",
    "exit 1 · 2.3 s",
    "return sum(x)",
  ]) {
    expect(text).toContain(part);
  }
  expect(text).toMatch(/unit +1\.000 +0\.40 +1 of 1/);
  expect(text).toMatch(/boundary +0\.000 +0\.60 +0 of 1 +hidden, gate/);
  expect(text).toContain("failed boundary/empty");
  expect(text).not.toContain("passed unit/one");
  expect(text).toContain("timed out, 1,234 bytes left out");
  expect(text).toMatch(/reward +0\.400/);
  expect(text).toMatch(/outcome +graded, completed/);
});

test("a replay tells what the sandbox used, and how it went over time where that was sampled", async () => {
  const curve = {
    atMs: [1_000, 2_000, 3_000],
    cpuMs: [1_000, 1_500, 1_500],
    throttledMs: [0, 0, 0],
    memoryBytes: [2 ** 20, 64 * 2 ** 20, 32 * 2 ** 20],
    diskBytes: [0, 0, null],
    files: [1, 2, 3],
    processes: [1, 1, 1],
  };
  const stats = {
    cpuMs: 1_500,
    throttledMs: 40,
    memoryBytes: 0,
    memoryPeakBytes: 64 * 2 ** 20,
    diskBytes: 512,
    files: 3,
    processes: 1,
    oomKills: 2,
  };
  const sandbox = {
    provider: "namespace",
    isolation: "namespace",
    image: "host",
    imageHash: "h",
    network: "off",
    limits: { cpus: 1, memoryBytes: 64 * 2 ** 20, diskBytes: 1_024, filesMax: 10, processesMax: 10, shmBytes: 1 },
  } as const;
  const stored = storedEpisode({ sandbox, resource: { ...stats, curveBlob: "curve" } });
  const text = await episodeReplay(
    { ...stored, body: async (hash) => (hash === "curve" ? Buffer.from(JSON.stringify(curve)) : stored.body(hash)) },
    plain,
  );
  expect(text).toMatch(/processor +1\.5 s, held back 40 ms +█▅▁/);
  expect(text).toMatch(/memory +64\.0 MiB at most, of 64\.0 MiB +▁█▅/);
  expect(text).toMatch(/disk +512 B of 1\.0 KiB +▁▁ /);
  expect(text).toMatch(/killed +2 for memory/);
  const short = await episodeReplay(storedEpisode({ sandbox, resource: { ...stats, curveBlob: null } }), plain);
  expect(short).toMatch(/memory +64\.0 MiB at most, of 64\.0 MiB$/m);
});

test("nothing the policy or a test wrote can drive the terminal", async () => {
  const text = await episodeReplay(storedEpisode(), plain);
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(text).toContain("file\\x1b[2J one");
  expect(text).toContain("got \\x1b[31mNone");
});

test("a failed episode shows its failure and no reward", async () => {
  const outcome = { kind: "failed", cause: "infra_during", failure: "sandbox_lost", message: "gone" } as const;
  const text = await episodeReplay(storedEpisode({ outcome, tests: [] }), plain);
  expect(text).toContain("sandbox_lost: gone");
  expect(text).toMatch(/reward +none: it was not graded/);
});

test("the record for machines carries every text it names, exactly as stored", async () => {
  const record = JSON.stringify(await episodeJson(storedEpisode()));
  const { bodies, nodes } = JSON.parse(record) as { bodies: Record<string, string>; nodes: { body: string }[] };
  expect(bodies[nodes[0]?.body ?? ""]).toBe("Repair the mean.");
  expect(Object.values(bodies)).toContain("file\u001b[2J one\nexit 1 · 2.3 s");
});

test("an episode is named by run and number, or by its whole id", () => {
  expect(episodeAsked("RUN", "12")).toEqual({ run: "RUN", episodeNo: 12 });
  expect(episodeAsked("RUN-12", null)).toEqual({ run: "RUN", episodeNo: 12 });
  expect(episodeAsked("my-run-12", null)).toEqual({ run: "my-run", episodeNo: 12 });
  expect(() => episodeAsked("RUN", null)).toThrow("Name the run and the number");
  expect(() => episodeAsked("RUN", "first")).toThrow("Name the run and the number");
});
