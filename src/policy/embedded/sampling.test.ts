/** Samples depend on weights, prompt and seed alone, and say what the trainer says of them. */
import { afterEach, expect, test } from "vitest";
import type { PolicyBackend, PolicySnapshot, SampleRequest, SampleResult } from "../../core/policy-backend.ts";
import { randomFrom } from "../../core/random.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { charsTokenizer } from "../tokenizer.ts";
import { type EmbeddedOptions, embeddedBackend } from "./backend.ts";

const tokenizer = charsTokenizer({ characters: "abcdefghijklmnopqrstuvwxyz 0123456789()+-*/" });
const end = tokenizer.special["<end>"];
const ADAM = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 };
const never = new AbortController().signal;
const opened: PolicyBackend[] = [];

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

async function open(options: Partial<EmbeddedOptions> = {}, isRough = true): Promise<PolicyBackend> {
  const fixed = {
    shape: "nano",
    tokenizer,
    seed: 7n,
    threads: 1,
    checkpointFolder: "unused",
    runtime: systemRuntime(),
  };
  const backend = await embeddedBackend({ ...fixed, slotsPerThread: 8, ...options } as EmbeddedOptions);
  opened.push(backend);
  if (isRough) await roughen(backend);
  return backend;
}

/** A few coarse steps on one sequence: every matrix then matters, and equally for any number of threads. */
async function roughen(backend: PolicyBackend): Promise<void> {
  const random = randomFrom(23n);
  for (let step = 0; step < 4; step += 1) {
    const tokens = Int32Array.from({ length: 90 }, () => random.integer(0, tokenizer.size - 1));
    const mask = new Uint8Array(90).fill(1).fill(0, 0, 1);
    await trainerOf(backend).forwardBackward(
      [{ tokens, mask, logprobs: new Float32Array(90), temperature: 1 }],
      [Float32Array.from(mask, (value) => value * (random.float() - 0.3))],
    );
    await trainerOf(backend).optimStep({ ...ADAM, learningRate: 0.02 });
  }
}

/** Prompts of many lengths, some of them equal, some beginning like others; the temperature is not 1. */
function requests(count: number, temperature = 0.7): SampleRequest[] {
  const random = randomFrom(5n);
  const prompts = Array.from({ length: Math.ceil(count / 4) }, () =>
    Int32Array.from({ length: random.integer(1, 40) }, () => random.integer(0, 41)),
  );
  return Array.from({ length: count }, (_unused, index) => ({
    promptIds: prompts[Math.floor(index / 4)] ?? Int32Array.of(0),
    tokensMax: 1 + ((index * 7) % 40),
    stopIds: [end, 3],
    temperature,
    seed: (BigInt(index) * 0x9e37_79b9_7f4a_7c15n) & 0xffff_ffff_ffff_ffffn,
  }));
}

async function sample(backend: PolicyBackend, all: readonly SampleRequest[]): Promise<readonly SampleResult[]> {
  return backend.sampler.sample(await snapshotOf(backend), all, never);
}

function trainerOf(backend: PolicyBackend) {
  if (backend.trainer === null) throw new Error("the embedded backend trains");
  return backend.trainer;
}

function snapshotOf(backend: PolicyBackend): Promise<PolicySnapshot> {
  return trainerOf(backend).snapshot(0);
}

/** The sample as a training sequence: prompt with mask 0, sample with mask 1. */
function sequenceOf({ promptIds, temperature }: SampleRequest, { ids, logprobs }: SampleResult) {
  return {
    tokens: Int32Array.of(...promptIds, ...ids),
    mask: Uint8Array.of(...promptIds.map(() => 0), ...ids.map(() => 1)),
    logprobs: Float32Array.of(...promptIds.map(() => 0), ...logprobs),
    temperature,
  };
}

function difference(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((max, value, at) => Math.max(max, Math.abs(value - (b[at] ?? Number.NaN))), 0);
}

test("the trainer computes the sampler's log-probabilities, so the on-policy ratio is 1 at any temperature", async () => {
  const backend = await open({ threads: 2 });
  for (const temperature of [0.7, 1, 1.4]) {
    const all = requests(48, temperature);
    const results = await sample(backend, all);
    const sequences = all.map((request, index) => sequenceOf(request, results[index] as SampleResult));
    const computed = await trainerOf(backend).forward(sequences);
    for (const [index, { logprobs, entropy }] of computed.entries()) {
      const { logprobs: sampled = new Float32Array(0), mask = new Uint8Array(0) } = sequences[index] ?? {};
      expect(difference(logprobs, sampled)).toBeLessThan(1e-5);
      for (const [at, value] of entropy.entries()) {
        expect(mask[at] === 1 ? value > 0 && value <= Math.log(tokenizer.size) + 1e-5 : value === 0).toBe(true);
      }
    }
  }
});

test("a request gives the same ids and bits alone, among 32, in another order, and with two threads", async () => {
  const backend = await open();
  const all = requests(32);
  const together = await sample(backend, all);
  const alone: SampleResult[] = [];
  for (const request of all) alone.push(...(await sample(backend, [request])));
  const reversed = [...(await sample(backend, [...all].reverse()))].reverse();
  const threaded = await sample(await open({ threads: 2 }), all);
  const oneByOne = await Promise.all(all.map(async (request) => (await sample(backend, [request]))[0]));
  for (const other of [alone, reversed, threaded, oneByOne]) expect(other).toEqual(together);
  expect(new Set(together.map(({ ids }) => ids.join())).size).toBeGreaterThan(20);
});

test("a sequence has the same log-probabilities alone and in a batch of 32, to the bit", async () => {
  const backend = await open({ threads: 2 });
  const all = requests(32);
  const results = await sample(backend, all);
  const sequences = all.map((request, index) => sequenceOf(request, results[index] as SampleResult));
  const together = await trainerOf(backend).forward(sequences);
  for (const [index, sequence] of sequences.entries()) {
    expect((await trainerOf(backend).forward([sequence]))[0]).toEqual(together[index]);
  }
});

test("the score under a snapshot is the log-probability at temperature 1 of every token but the first", async () => {
  const backend = await open();
  const all = requests(8, 1);
  const results = await sample(backend, all);
  const sequences = all.map((request, index) => sequenceOf(request, results[index] as SampleResult));
  const snapshot = await snapshotOf(backend);
  const scores = await backend.sampler.score(
    snapshot,
    sequences.map(({ tokens }) => tokens),
    never,
  );
  for (const [index, score] of scores.entries()) {
    const { mask = new Uint8Array(0), logprobs = new Float32Array(0) } = sequences[index] ?? {};
    expect(score[0]).toBe(0);
    expect(
      difference(
        score.map((value, at) => (mask[at] === 1 ? value : 0)),
        logprobs,
      ),
    ).toBeLessThan(1e-5);
    expect(score.subarray(1).every((value) => value < 0)).toBe(true);
  }
});

test("greedy takes the likeliest token whatever the seed, and reports it at temperature 1", async () => {
  const backend = await open();
  const greedy = requests(4, 0).map((request) => ({ ...request, stopIds: [] }));
  const [first, second] = [
    await sample(backend, greedy),
    await sample(
      backend,
      greedy.map((r) => ({ ...r, seed: 9n })),
    ),
  ];
  expect(second).toEqual(first);
  const [request, result] = [greedy[0] as SampleRequest, first[0] as SampleResult];
  const snapshot = await snapshotOf(backend);
  const next = Array.from({ length: tokenizer.size }, (_unused, id) => Int32Array.of(...request.promptIds, id));
  const likeliest = (await backend.sampler.score(snapshot, next, never)).map((score) => score.at(-1) ?? Number.NaN);
  expect(result.logprobs[0]).toBe(Math.max(...likeliest));
  expect(result.ids[0]).toBe(likeliest.indexOf(Math.max(...likeliest)));
});

test("samples follow the distribution the log-probabilities state", async () => {
  const backend = await open({ slotsPerThread: 32 });
  const request = { promptIds: Int32Array.of(1, 2, 3), tokensMax: 1, stopIds: [], temperature: 1 };
  const draws = 4_000;
  const results = await sample(
    backend,
    Array.from({ length: draws }, (_unused, index) => ({ ...request, seed: BigInt(index) })),
  );
  const counts = new Map<number, { count: number; logprob: number }>();
  for (const { ids, logprobs } of results) {
    const entry = counts.get(ids[0] ?? -1) ?? { count: 0, logprob: logprobs[0] ?? 0 };
    counts.set(ids[0] ?? -1, { ...entry, count: entry.count + 1 });
  }
  let chiSquare = 0;
  for (const { count, logprob } of counts.values()) {
    const expected = draws * Math.exp(logprob);
    chiSquare += (count - expected) ** 2 / expected;
  }
  // Degrees of freedom 49; the seeds are fixed, so this is one number and not a chance.
  expect(counts.size).toBe(tokenizer.size);
  expect(chiSquare).toBeLessThan(85);
});

test("the draws of one sample do not repeat each other", async () => {
  // A fresh policy is nearly uniform, so equal draws at two positions would give equal tokens.
  const backend = await open({}, false);
  const request = { promptIds: Int32Array.of(1), tokensMax: 2, stopIds: [], temperature: 1 };
  const all = Array.from({ length: 400 }, (_unused, index) => ({ ...request, seed: BigInt(index) }));
  const repeated = (await sample(backend, all)).filter(({ ids }) => ids[0] === ids[1]);
  expect(repeated.length).toBeLessThan(30);
});

test("a sample ends at its stop token, which it keeps, or at its length", async () => {
  const results = await sample(await open(), requests(64));
  for (const [index, { ids, stopReason, logprobs }] of results.entries()) {
    expect(logprobs.length).toBe(ids.length);
    const stop = ids.findIndex((id) => id === end || id === 3);
    expect(stopReason).toBe(stop >= 0 ? "stop" : "length");
    expect(ids.length).toBe(stop >= 0 ? stop + 1 : 1 + ((index * 7) % 40));
  }
  expect(new Set(results.map(({ stopReason }) => stopReason)).size).toBe(2);
});

test("a later turn that continues an earlier sample gives what it gives on a fresh engine", async () => {
  const turn = async (backend: PolicyBackend, promptIds: Int32Array, seed: bigint): Promise<SampleResult> => {
    const request = { promptIds, tokensMax: 9, stopIds: [end], temperature: 1, seed };
    return (await sample(backend, [request]))[0] as SampleResult;
  };
  const backend = await open();
  const first = await turn(backend, Int32Array.of(4, 5, 6), 1n);
  const history = Int32Array.of(4, 5, 6, ...first.ids, 8, 9);
  const second = await turn(backend, history, 2n);
  expect(second).toEqual(await turn(await open(), history, 2n));
  // The whole of a known prompt again, and a prefix of it.
  expect(await turn(backend, history, 2n)).toEqual(second);
  const shorter = history.slice(0, 7);
  expect(await turn(backend, shorter, 3n)).toEqual(await turn(await open(), shorter, 3n));
});

test("old and new snapshots can be sampled from together", async () => {
  const backend = await open();
  const trainer = trainerOf(backend);
  const all = requests(16);
  const before = await trainer.snapshot(0);
  const expected = await backend.sampler.sample(before, all, never);
  const sequences = all.map((request, index) => sequenceOf(request, expected[index] as SampleResult));
  await trainer.forwardBackward(
    sequences,
    sequences.map(({ mask }) => Float32Array.from(mask)),
  );
  await trainer.optimStep(ADAM);
  const after = await trainer.snapshot(1);
  expect(after.sha256).not.toBe(before.sha256);
  const [old, fresh] = await Promise.all([
    backend.sampler.sample(before, all, never),
    backend.sampler.sample(after, all, never),
  ]);
  expect(old).toEqual(expected);
  expect(fresh.every(({ policyVersion }) => policyVersion === 1)).toBe(true);
  expect(fresh).not.toEqual(expected);
});

test("the generic kernels agree with the vector kernels", async () => {
  const all = requests(16, 1);
  const fast = await open();
  const results = await sample(fast, all);
  const sequences = all.map((request, index) => sequenceOf(request, results[index] as SampleResult));
  const slow = await trainerOf(await open({ forceGeneric: true })).forward(sequences);
  for (const [index, { logprobs }] of slow.entries()) {
    expect(difference(logprobs, sequences[index]?.logprobs ?? new Float32Array(0))).toBeLessThan(1e-4);
  }
});

test("an aborted caller is let go at once and its neighbours are not disturbed", async () => {
  const backend = await open();
  const all = requests(40).map((request) => ({ ...request, stopIds: [] }));
  const expected = await sample(backend, all);
  const snapshot = await snapshotOf(backend);
  const controller = new AbortController();
  const doomed = backend.sampler.sample(snapshot, requests(60), controller.signal);
  const others = backend.sampler.sample(snapshot, all, never);
  setImmediate(() => controller.abort());
  await expect(doomed).rejects.toMatchObject({ code: "cancelled" });
  expect(await others).toEqual(expected);
  await expect(backend.sampler.sample(snapshot, all, controller.signal)).rejects.toMatchObject({ code: "cancelled" });
  expect(await sample(backend, all)).toEqual(expected);
});
