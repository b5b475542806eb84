/** The embedded backend as a whole: it learns, resumes to the bit, keeps its limits, and refuses what cannot be right. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AdamOptions, PolicyBackend, TrainSequence } from "../../core/policy-backend.ts";
import { randomFrom } from "../../core/random.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { charsTokenizer } from "../tokenizer.ts";
import { type EmbeddedOptions, embeddedBackend } from "./backend.ts";

const tokenizer = charsTokenizer({ characters: "abcdefghijklmnopqrstuvwxyz " });
const ADAM: AdamOptions = {
  learningRate: 3e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
};
const never = new AbortController().signal;
const opened: PolicyBackend[] = [];
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-engine-"));
});

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
  await rm(folder, { recursive: true });
});

async function open(options: Partial<EmbeddedOptions> = {}) {
  const fixed = { shape: "nano", tokenizer, seed: 11n, threads: 2, checkpointFolder: folder, runtime: systemRuntime() };
  const backend = await embeddedBackend({ ...fixed, slotsPerThread: 4, ...options } as EmbeddedOptions);
  opened.push(backend);
  const { trainer } = backend;
  if (trainer === null) throw new Error("the embedded backend trains");
  return { ...backend, trainer };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Sequences of the same few letters in a fixed order, which a policy can learn; drawn by step. */
function batch(step: number): TrainSequence[] {
  const random = randomFrom(BigInt(step));
  return Array.from({ length: 12 }, () => {
    const start = random.integer(0, 9);
    const tokens = Int32Array.from({ length: random.integer(5, 30) }, (_unused, index) => (start + 3 * index) % 27);
    const mask = new Uint8Array(tokens.length).fill(1).fill(0, 0, 2);
    return { tokens, mask, logprobs: new Float32Array(tokens.length), temperature: 1 };
  });
}

/** One step of imitation; returns the mean log-probability before it. */
async function step({ trainer }: Opened, number: number): Promise<number> {
  const sequences = batch(number);
  const count = sequences.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
  const coefficients = sequences.map(({ mask }) => Float32Array.from(mask, (value) => value / count));
  const results = await trainer.forwardBackward(sequences, coefficients);
  await trainer.optimStep(ADAM);
  return results.reduce((sum, { logprobs }) => sum + logprobs.reduce((a, b) => a + b, 0), 0) / count;
}

test("the probe finds the engine sound and describes it", async () => {
  const backend = await open();
  const capabilities = await backend.probe();
  expect(capabilities).toMatchObject({ tokensIn: true, logprobs: true, contextMax: 96 });
  const [layers, width, vocab] = [2, 64, tokenizer.size];
  expect(capabilities.parameters).toBe(12 * layers * width ** 2 + 2 * vocab * width + (2 * layers + 1) * width);
  await step(backend, 1);
  await backend.probe();
});

test("a policy that imitates learns to", async () => {
  const backend = await open();
  const before = await step(backend, 0);
  for (let number = 1; number < 60; number += 1) await step(backend, number);
  expect(before).toBeLessThan(-3);
  expect(await step(backend, 60)).toBeGreaterThan(-0.5);
});

test("equal seeds give equal weights; training twice gives equal bits", async () => {
  const [one, two, other] = [await open(), await open(), await open({ seed: 12n })];
  const hash = async ({ trainer }: Opened, version: number): Promise<string> =>
    (await trainer.snapshot(version)).sha256;
  expect(await hash(one, 0)).toBe(await hash(two, 0));
  expect(await hash(one, 0)).not.toBe(await hash(other, 0));
  for (const backend of [one, two]) for (let number = 0; number < 4; number += 1) await step(backend, number);
  expect(await hash(one, 1)).toBe(await hash(two, 1));
});

test("save, load in a new engine, continue: the same bits as never having stopped", async () => {
  const whole = await open();
  for (let number = 0; number < 4; number += 1) await step(whole, number);
  const ref = await whole.trainer.save("middle", 4, { consumed: ["a"] });
  for (let number = 4; number < 8; number += 1) await step(whole, number);

  const resumed = await open({ seed: 99n });
  await resumed.trainer.forwardBackward(
    batch(50),
    batch(50).map(({ mask }) => Float32Array.from(mask)),
  );
  const loaded = await resumed.trainer.load("middle", { optimizer: true });
  expect(loaded).toEqual({ ref, state: { consumed: ["a"] }, isBitEqual: true });
  expect(ref).toMatchObject({ name: "middle", step: 4, version: 4, folder: join(folder, "middle") });
  for (let number = 4; number < 8; number += 1) await step(resumed, number);
  const [a, b] = [await whole.trainer.snapshot(8), await resumed.trainer.snapshot(8)];
  expect(b.sha256).toBe(a.sha256);
  const request = { promptIds: Int32Array.of(1, 4, 7), tokensMax: 20, stopIds: [], temperature: 1, seed: 3n };
  const sampled = await whole.sampler.sample(a, [request], never);
  expect(await resumed.sampler.sample(b, [request], never)).toEqual(sampled);

  const single = await open({ threads: 1 });
  expect((await single.trainer.load("middle", { optimizer: true })).isBitEqual).toBe(false);
  expect((await resumed.trainer.load("middle", { optimizer: false })).isBitEqual).toBe(false);
});

test("a checkpoint of the same name is replaced whole, and nothing temporary is left", async () => {
  const backend = await open();
  await backend.trainer.save("last", 0, 1);
  await step(backend, 0);
  const second = await backend.trainer.save("last", 1, 2);
  expect(await readdir(folder)).toEqual(["last"]);
  expect((await readdir(second.folder)).sort()).toEqual(["model.safetensors", "optimizer.safetensors", "state.json"]);
  expect(await backend.trainer.load("last", { optimizer: true })).toEqual({ ref: second, state: 2, isBitEqual: true });
});

test("a missing checkpoint is reported with those that exist", async () => {
  const backend = await open();
  await backend.trainer.save("step-20", 1, null);
  await mkdir(join(folder, ".half-written"));
  const load = backend.trainer.load("step-40", { optimizer: true });
  await expect(load).rejects.toMatchObject({
    code: "policy_checkpoint_missing",
    message: /step-40.*There are: step-20\./s,
  });
  await expect(backend.trainer.load("../x", { optimizer: true })).rejects.toMatchObject({ code: "request_invalid" });
});

test("a damaged checkpoint is refused by file, and the weights stay as they were", async () => {
  const backend = await open();
  await backend.trainer.save("good", 0, null);
  await step(backend, 0);
  const { sha256 } = await backend.trainer.snapshot(1);
  const damage: readonly (readonly [string, (path: string) => Promise<void>])[] = [
    ["model.safetensors", (path) => truncate(path, 5_000)],
    ["model.safetensors", async (path) => writeFile(path, flipByte(await readFile(path), 9_000))],
    ["optimizer.safetensors", async (path) => writeFile(path, flipByte(await readFile(path), 20_000))],
    ["optimizer.safetensors", (path) => rm(path)],
    ["state.json", (path) => truncate(path, 40)],
    ["state.json", (path) => writeFile(path, "{}")],
  ];
  for (const [file, harm] of damage) {
    await cp(join(folder, "good"), join(folder, "bad"), { recursive: true });
    await harm(join(folder, "bad", file));
    const load = backend.trainer.load("bad", { optimizer: true });
    await expect(load).rejects.toMatchObject({ code: "policy_checkpoint_mismatch" });
    await expect(backend.trainer.load("bad", { optimizer: true })).rejects.toThrow(join(folder, "bad", file));
    await rm(join(folder, "bad"), { recursive: true });
  }
  expect((await backend.trainer.snapshot(1)).sha256).toBe(sha256);
});

function flipByte(bytes: Buffer, at: number): Buffer {
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return bytes;
}

test("a checkpoint of another shape or tokenizer is refused", async () => {
  await (await open()).trainer.save("one", 0, null);
  const others: Partial<EmbeddedOptions>[] = [
    { shape: { layers: 1, width: 64, context: 96 } },
    { contextMax: 64 },
    { tokenizer: charsTokenizer({ characters: "bacdefghijklmnopqrstuvwxyz " }) },
  ];
  for (const options of others) {
    const load = (await open(options)).trainer.load("one", { optimizer: true });
    await expect(load).rejects.toMatchObject({ code: "policy_checkpoint_mismatch" });
  }
});

test("a gradient that is not finite stops the step; weights and later steps are as if it had not been", async () => {
  const [hurt, spared] = [await open(), await open()];
  for (const backend of [hurt, spared]) await step(backend, 0);
  const sequences = batch(1);
  const coefficients = sequences.map(({ mask }) => Float32Array.from(mask));
  coefficients[3]?.fill(Number.NaN, 4, 5);
  await hurt.trainer.forwardBackward(sequences, coefficients);
  await expect(hurt.trainer.optimStep(ADAM)).rejects.toMatchObject({ code: "policy_not_finite" });
  for (const backend of [hurt, spared]) await step(backend, 2);
  expect((await hurt.trainer.snapshot(1)).sha256).toBe((await spared.trainer.snapshot(1)).sha256);
});

test("gradients add up over calls, can be forgotten, and are clipped to the norm asked for", async () => {
  const [parts, whole] = [await open({ threads: 1 }), await open({ threads: 1 })];
  const sequences = batch(0);
  const coefficients = sequences.map(({ mask }) => Float32Array.from(mask));
  await parts.trainer.forwardBackward(
    batch(9),
    coefficients.map((_own, index) => Float32Array.from(batch(9)[index]?.mask ?? [])),
  );
  await parts.trainer.discardGradient();
  for (const half of [
    [0, 6],
    [6, 12],
  ] as const) {
    await parts.trainer.forwardBackward(sequences.slice(...half), coefficients.slice(...half));
  }
  await whole.trainer.forwardBackward(sequences, coefficients);
  const [a, b] = [await parts.trainer.optimStep(ADAM), await whole.trainer.optimStep(ADAM)];
  expect(a.gradNorm / b.gradNorm).toBeCloseTo(1, 5);
  expect(b.gradNorm).toBeGreaterThan(ADAM.gradientClip);
  expect(b).toMatchObject({ step: 1, learningRate: ADAM.learningRate });
});

test("a version that was sampled from names its weights for ever; one never used may be taken again", async () => {
  const backend = await open();
  await backend.trainer.snapshot(0);
  await step(backend, 0);
  const second = await backend.trainer.snapshot(0);
  const request = { promptIds: Int32Array.of(1), tokensMax: 2, stopIds: [], temperature: 1, seed: 3n };
  await backend.sampler.sample(second, [request], never);
  expect(await backend.trainer.snapshot(0)).toEqual(second);
  await step(backend, 1);
  await expect(backend.trainer.snapshot(0)).rejects.toMatchObject({ code: "policy_mismatch" });
});

test("the reference and the newest snapshots are held; an older one says that it is gone", async () => {
  const backend = await open({ snapshotsMax: 3 });
  const reference = await backend.trainer.snapshot(0);
  await backend.sampler.score(reference, [Int32Array.of(1, 2)], never);
  const all = [reference];
  for (let version = 1; version <= 5; version += 1) {
    await step(backend, version);
    all.push(await backend.trainer.snapshot(version));
  }
  for (const [version, isHeld] of [
    [0, true],
    [3, false],
    [4, true],
    [5, true],
  ] as const) {
    const scores = backend.sampler.score(all[version] ?? reference, [Int32Array.of(1, 2)], never);
    await (isHeld
      ? expect(scores).resolves.toHaveLength(1)
      : expect(scores).rejects.toMatchObject({ code: "not_found" }));
  }
});

test("a reference is held from when it was taken, also when many steps pass before anything is scored under it", async () => {
  const backend = await open({ snapshotsMax: 3 });
  const reference = await backend.trainer.snapshot(0, { isReference: true });
  for (let version = 1; version <= 5; version += 1) {
    await step(backend, version);
    await backend.trainer.snapshot(version);
  }
  await expect(backend.sampler.score(reference, [Int32Array.of(1, 2)], never)).resolves.toHaveLength(1);
});

test("what does not fit the context is refused before anything runs", async () => {
  const backend = await open();
  const snapshot = await backend.trainer.snapshot(0);
  const request = { promptIds: new Int32Array(90), tokensMax: 7, stopIds: [], temperature: 1, seed: 3n };
  const sample = backend.sampler.sample(snapshot, [request], never);
  await expect(sample).rejects.toMatchObject({ code: "policy_context_exceeded" });
  expect((await backend.sampler.sample(snapshot, [{ ...request, tokensMax: 6 }], never))[0]?.ids).toHaveLength(6);
  const long = { tokens: new Int32Array(97), mask: new Uint8Array(97), logprobs: new Float32Array(97), temperature: 1 };
  await expect(backend.trainer.forward([long])).rejects.toMatchObject({ code: "policy_context_exceeded" });
  const wrong = { ...request, promptIds: Int32Array.of(tokenizer.size) };
  await expect(backend.sampler.sample(snapshot, [wrong], never)).rejects.toMatchObject({ code: "request_invalid" });
});

test("an engine over its memory limit is refused with the computed figure, as is a shape that cannot be", async () => {
  const refused = open({ shape: "small", memoryBytesMax: 50_000_000 });
  await expect(refused).rejects.toMatchObject({
    code: "config_invalid",
    message: /would take \d+ MiB .* engineMemoryBytesMax = 48 MiB/,
  });
  await expect(open({ shape: { layers: 2, width: 48, context: 96 } })).rejects.toThrow(/multiple of 32/);
  await expect(open({ threads: 0 })).rejects.toThrow(/threads must be 1 to 16/);
});

test("a closed engine refuses work and can be closed again", async () => {
  const backend = await open();
  await backend.close();
  await backend.close();
  await expect(backend.trainer.forward(batch(0))).rejects.toMatchObject({ code: "cancelled" });
});
