/** The gradient against finite differences, the builds of the kernels against each other, and what must get none. */
import { afterEach, expect, test } from "vitest";
import { randomFrom } from "../../core/random.ts";
import { type Engine, openEngine } from "./engine.ts";
import { planBatch } from "./plan.ts";
import { tensorsOf } from "./shape.ts";

const SHAPE = { layers: 2, width: 64, context: 96 };
const VOCAB = 59;
const random = randomFrom(41n);
const opened: Engine[] = [];

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

async function open(forceGeneric = false, threads = 1): Promise<Engine> {
  const options = { shape: SHAPE, vocab: VOCAB, threads, slotsPerThread: 8, snapshotsMax: 3, memoryBytesMax: 2 ** 30 };
  const engine = await openEngine({ ...options, forceGeneric });
  opened.push(engine);
  await engine.use((addon, handle) => addon.initialize(handle, { seed: 3n }));
  // Larger embeddings and output weights, uneven gains, and no matrix at its initial 0, so that no part of the gradient is small.
  const weights = await readWeights(engine);
  const random = randomFrom(17n);
  for (const { name, data } of tensorsOf(SHAPE, VOCAB, weights)) {
    if (/out|down/.test(name)) data.set(data.map(() => (random.float() - 0.5) / 5));
    if (name === "embed.weight") data.set(data.map((value) => value * 8));
    if (name === "head.weight") data.set(data.map((value) => value * 15));
    if (name.includes("norm")) data.set(data.map((_value, index) => 0.6 + ((index * 7) % 9) / 10));
  }
  await writeWeights(engine, weights);
  return engine;
}

function readWeights(engine: Engine): Promise<Float32Array> {
  return engine.use((addon, handle) => {
    const flat = new Float32Array(engine.parameters);
    addon.copy(handle, 0, flat, false);
    return flat;
  });
}

function writeWeights(engine: Engine, weights: Float32Array): Promise<number> {
  return engine.use((addon, handle) => {
    addon.copy(handle, 0, weights, true);
    return addon.refresh(handle, {});
  });
}

const sequences = [70, 13, 49, 2].map((length) => ({
  tokens: Int32Array.from({ length }, () => random.integer(0, VOCAB - 1)),
  mask: Uint8Array.from({ length }, (_unused, index) => (index > 0 && index % 4 !== 1 ? 1 : 0)),
}));
const temperatures = Float32Array.of(1, 0.7, 1.3, 1);
const tokenCount = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
const coefficients = Float32Array.from({ length: tokenCount }, () => random.float() * 2 - 0.7);

/** The loss -sum c * l, and the gradient when asked for. */
async function evaluate(engine: Engine, own = coefficients): Promise<{ loss: number; gradient: Float32Array }> {
  const plan = planBatch(sequences, engine.config.threads, engine.config.rows);
  const logprobs = new Float32Array(tokenCount);
  const entropy = new Float32Array(tokenCount);
  const gradient = new Float32Array(engine.parameters);
  await engine.use(async (addon, handle) => {
    await addon.train(handle, { ...plan, coefficients: own, temperatures, logprobs, entropy, weights: -1 });
    addon.gradient(handle, gradient);
    await addon.discard(handle, {});
  });
  const loss = -logprobs.reduce((sum, value, at) => sum + (plan.mask[at] === 1 ? value * (own[at] ?? 0) : 0), 0);
  return { loss, gradient };
}

/** Relative error of the gradient along a unit direction, against a central difference of fourth order. */
async function directionalError(
  engine: Engine,
  weights: Float32Array,
  direction: Float32Array,
  gradient: Float32Array,
) {
  const length = norm(direction);
  const at = async (step: number): Promise<number> => {
    await writeWeights(
      engine,
      weights.map((value, index) => value + (step * (direction[index] ?? 0)) / length),
    );
    return (await evaluate(engine)).loss;
  };
  const h = 0.02;
  const measured = (8 * ((await at(h)) - (await at(-h))) - ((await at(2 * h)) - (await at(-2 * h)))) / (12 * h);
  await writeWeights(engine, weights);
  const computed = gradient.reduce((sum, value, index) => sum + value * (direction[index] ?? 0), 0) / length;
  return Math.abs(measured - computed) / Math.abs(computed);
}

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

test.each([false, true])(
  "the gradient agrees with finite differences along every tensor (generic: %s)",
  async (generic) => {
    const engine = await open(generic);
    const weights = await readWeights(engine);
    const { gradient } = await evaluate(engine);
    const views = tensorsOf(SHAPE, VOCAB, gradient);
    for (const { name } of views) {
      const direction = new Float32Array(engine.parameters);
      const own = tensorsOf(SHAPE, VOCAB, direction).find((tensor) => tensor.name === name);
      own?.data.set(views.find((tensor) => tensor.name === name)?.data ?? []);
      expect(norm(direction), name).toBeGreaterThan(1e-3);
      expect(await directionalError(engine, weights, direction, gradient), name).toBeLessThan(1e-3);
    }
  },
);

test("the gradient agrees with finite differences along random directions", async () => {
  const engine = await open();
  const weights = await readWeights(engine);
  const { gradient } = await evaluate(engine);
  for (let round = 0; round < 8; round += 1) {
    // Random sizes, signs mostly the gradient's: a direction all at random would hardly change the loss.
    const direction = gradient.map((value) => value * random.float() * (random.float() < 0.25 ? -1 : 1));
    expect(await directionalError(engine, weights, direction, gradient)).toBeLessThan(1e-3);
  }
});

test("both builds of the kernels, and two threads, give one gradient", async () => {
  const { gradient } = await evaluate(await open());
  for (const other of [await open(true), await open(false, 2)]) {
    const { gradient: own } = await evaluate(other);
    expect(norm(own.map((value, index) => value - (gradient[index] ?? 0))) / norm(gradient)).toBeLessThan(1e-5);
  }
});

test("coefficients of 0 give no gradient, and those of unsampled tokens are not looked at", async () => {
  const engine = await open();
  const plan = planBatch(sequences, 1, 256);
  expect(norm((await evaluate(engine, new Float32Array(tokenCount))).gradient)).toBe(0);
  const onObservations = Float32Array.from(plan.mask, (value) => 1 - value);
  expect(norm((await evaluate(engine, onObservations)).gradient)).toBe(0);
});

test("the first sampled token and the last, the stop token, each get gradient", async () => {
  const engine = await open();
  const plan = planBatch(sequences, 1, 256);
  const ends = plan.mask.subarray(0, 70);
  for (const at of [ends.indexOf(1), ends.lastIndexOf(1)]) {
    const one = new Float32Array(tokenCount);
    one[at] = 1;
    expect(norm((await evaluate(engine, one)).gradient)).toBeGreaterThan(1e-2);
  }
});
