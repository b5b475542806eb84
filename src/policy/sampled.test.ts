/** The sampled policy over a sampler that answers by rule: what is trained on is what was sampled, batched or alone. */
import { expect, test } from "vitest";
import { answerTask, greets, greetTask, memory, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { tinyPool } from "../../test/support/tiny-sandbox.ts";
import type { PolicySampler, PolicySnapshot, SampleRequest } from "../core/policy-backend.ts";
import type { Task } from "../core/task.ts";
import type { Verifier } from "../core/verifier.ts";
import { createEpisodeRunner } from "../episode/run-episode.ts";
import { systemRuntime } from "../runtime/system.ts";
import { plainRenderer } from "./renderer/plain.ts";
import { type SampledPolicyOptions, sampledPolicy } from "./sampled.ts";
import { bytesTokenizer } from "./tokenizer.ts";
import { shellTool } from "./tool/shell.ts";
import { submitTool } from "./tool/submit.ts";

const runtime = systemRuntime();
const tokenizer = bytesTokenizer();
const { special } = tokenizer;

/** Says the given turns in order of how many it has said in this prompt; remembers each call of `sample`. */
function ruleSampler(turns: readonly string[]) {
  const calls: SampleRequest[][] = [];
  const sampler: PolicySampler = {
    async sample(snapshot, requests) {
      calls.push([...requests]);
      await runtime.sleep(2);
      return requests.map((request) => {
        const turn = request.promptIds.filter((id) => id === special["<turn:policy>"]).length - 1;
        const parts = (turns[turn] ?? "").split("<tool>").map((part) => [...tokenizer.encode(part)]);
        const ids = [
          ...parts.flatMap((part, index) => (index === 0 ? part : [special["<tool>"], ...part])),
          special["<end>"],
        ];
        const isCut = ids.length > request.tokensMax;
        return {
          ids: Int32Array.from(ids.slice(0, request.tokensMax)),
          logprobs: Float32Array.from(ids.slice(0, request.tokensMax), (_id, index) => -index - 1),
          stopReason: isCut ? ("length" as const) : ("stop" as const),
          policyVersion: snapshot.version,
        };
      });
    },
    score: async () => [],
  };
  return { sampler, calls };
}

const snapshot: PolicySnapshot = { id: "s3", version: 3, sha256: "", tokenizerSha256: tokenizer.sha256 };

function policyOf(sampler: PolicySampler, change: Partial<SampledPolicyOptions> = {}) {
  return sampledPolicy({
    sampler,
    snapshot: () => snapshot,
    renderer: plainRenderer({ tokenizer, isBare: true }),
    temperature: 1,
    tokensMax: 200,
    contextMax: 4096,
    name: "rule",
    ...change,
  });
}

function runnerOf(verifier: Verifier) {
  return createEpisodeRunner({
    pool: tinyPool(runtime),
    verifier,
    verdicts: memory(),
    identity: ({ artifacts }) => artifacts.hash,
    tools: [shellTool(), submitTool()],
    systemText: "Be brief.",
    runtime,
    code: { sandlot: "0.0.0", commit: null },
  });
}

const isFortyTwo = ruleVerifier((artifacts) => (artifacts.answer === "42" ? 1 : 0));
const { signal } = new AbortController();

function run(task: Task, policy: ReturnType<typeof policyOf>, verifier: Verifier) {
  return runnerOf(verifier)(planOf(task, policy), signal);
}

test("an answer is one sampled turn, and the segment is its prompt and its tokens", async () => {
  const { sampler } = ruleSampler(["42"]);
  const { document, segment } = await run(answerTask(), policyOf(sampler), isFortyTwo);
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(document.policy).toMatchObject({ versionFirst: 3, versionLast: 3 });
  expect(tokenizer.decode(segment?.ids ?? new Int32Array())).toBe("<bos><turn:observation>Say 42.<turn:policy>42<end>");
  expect(document.tokens).toEqual({ count: segment?.ids.length, sampledCount: 3 });
  expect(Array.from(segment?.mask ?? []).slice(-4)).toEqual([0, 1, 1, 1]);
  expect(Array.from(segment?.logprobs ?? []).slice(-4)).toEqual([0, -1, -2, -3]);
  expect(Array.from(segment?.turns ?? []).slice(-4)).toEqual([0, 1, 1, 1]);
});

test("several turns join into one segment in which only sampled tokens are trained", async () => {
  const turns = ['<tool>shell\n{"command":"write /work/out hello"}', "<tool>submit\n{}"];
  const { sampler } = ruleSampler(turns);
  const { document, segment } = await run(greetTask(), policyOf(sampler), ruleVerifier(greets));
  expect(document.outcome).toMatchObject({ kind: "graded", reward: 1 });
  expect(document.branches).toMatchObject([{ trainable: true }]);
  const ids = segment?.ids ?? new Int32Array();
  const sampled = ids.filter((_id, index) => segment?.mask[index] === 1);
  expect(tokenizer.decode(sampled)).toBe(turns.map((turn) => `${turn}<end>`).join(""));
  expect(segment?.logprobs.filter((_value, index) => segment.mask[index] === 0).every((value) => value === 0)).toBe(
    true,
  );
});

test("each member and each turn samples with a seed of its own, and equal plans with equal seeds", async () => {
  const { sampler, calls } = ruleSampler(['<tool>shell\n{"command":"print 1"}', "<tool>submit\n{}"]);
  const policy = policyOf(sampler);
  const runEpisode = runnerOf(ruleVerifier(greets));
  for (const samplingSeed of [1n, 2n, 1n]) await runEpisode(planOf(greetTask(), policy, { samplingSeed }), signal);
  const seeds = calls.map(([request]) => request?.seed);
  expect(new Set(seeds.slice(0, 4)).size).toBe(4);
  expect(seeds.slice(4)).toEqual(seeds.slice(0, 2));
});

test.each([
  ["a prompt that fills the context", { contextMax: 10 }, "context_limit"],
  ["a turn cut by the context", { contextMax: 20 }, "context_limit"],
  ["a turn cut by its own limit", { tokensMax: 5 }, "token_limit"],
])("%s stops the episode, with the state graded", async (_name, change, stopReason) => {
  const { sampler } = ruleSampler(["a long answer that does not fit"]);
  const { document } = await run(answerTask(), policyOf(sampler, change), isFortyTwo);
  expect(document.outcome).toMatchObject({ kind: "graded", stopReason, reward: 0, isTruncated: true });
});

test("a sampler that fails fails its episodes in their class, and the next episode is sampled again", async () => {
  const { sampler } = ruleSampler(["42"]);
  let failures = 1;
  const flaky: PolicySampler = {
    ...sampler,
    sample: (...args) => {
      if (failures-- > 0) throw new Error("the engine fell over");
      return sampler.sample(...args);
    },
  };
  const policy = policyOf(flaky);
  const first = await run(answerTask(), policy, isFortyTwo);
  expect(first.document.outcome).toMatchObject({ kind: "failed", failure: "unexpected" });
  const second = await run(answerTask(), policy, isFortyTwo);
  expect(second.document.outcome).toMatchObject({ kind: "graded", reward: 1 });
});
