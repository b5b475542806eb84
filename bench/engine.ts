/**
 * Speed of the embedded engine: square products, training steps and sampling, for (2 layers, width 128) and (4 layers,
 * width 256) at 32 x 256 tokens, and the short sequences of the first-light loop, with one and two threads. Rounds of all
 * rows are interleaved, so that a busy minute falls on all alike; medians and ranges are printed with the load average.
 * Beside wall time stands the amount per second of processor time, which others on the machine disturb less.
 */
import { cpus, loadavg } from "node:os";
import { randomFrom } from "../src/core/random.ts";
import type { AdamCall, EngineAddon, EngineHandle } from "../src/policy/embedded/addon.ts";
import { type Engine, openEngine } from "../src/policy/embedded/engine.ts";
import { planBatch } from "../src/policy/embedded/plan.ts";
import { systemRuntime } from "../src/runtime/system.ts";

const VOCAB = 256;
const ROUNDS = 5;
const ADAM: AdamCall = { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 };
const runtime = systemRuntime();

/** One line of the table: what was measured, its unit, and every round's value. */
export interface EngineRow {
  readonly name: string;
  readonly unit: "GFLOP/s" | "tokens/s";
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** Median of the same amount per second of processor time, all threads together. */
  readonly perCpuSecond: number;
  readonly rounds: number;
}

export interface EngineBench {
  readonly bench: "engine";
  readonly cpu: string;
  readonly node: string;
  readonly build: string;
  readonly loadBefore: readonly number[];
  readonly loadAfter: readonly number[];
  readonly rows: readonly EngineRow[];
}

interface Measure {
  readonly name: string;
  readonly unit: EngineRow["unit"];
  readonly once: () => Promise<Speed>;
  readonly speeds: Speed[];
}

/** An amount by the clock on the wall and by the processor time of all threads. */
interface Speed {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

async function timed(amount: number, work: () => Promise<void>): Promise<Speed> {
  const started = runtime.monotonic();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: (amount * 1e3) / (runtime.monotonic() - started),
    perCpuSecond: (amount * 1e6) / (user + system),
  };
}

/** Runs every measure once to warm up and then `rounds` times, interleaved, and prints the table. */
export async function run(rounds = ROUNDS): Promise<EngineBench> {
  const loadBefore = loadavg();
  const engines: Engine[] = [];
  const measures: Measure[] = [];
  const add = (name: string, unit: EngineRow["unit"], once: () => Promise<Speed>): void => {
    measures.push({ name, unit, once, speeds: [] });
  };
  for (const [layers, width] of [
    [2, 128],
    [4, 256],
  ] as const) {
    for (const threads of [1, 2]) {
      const engine = await open(layers, width, threads);
      engines.push(engine);
      const name = `${layers}x${width}, ${threads} thread${threads === 1 ? "" : "s"}`;
      if (layers === 2 && threads === 1)
        for (const size of [512, 1024]) add(`product ${size}^3`, "GFLOP/s", () => product(engine, size));
      add(`train 32 x 256, ${name}`, "tokens/s", () => train(engine, 32, 256));
      add(`sample 32 x 256, ${name}`, "tokens/s", () => sample(engine, 32, 16, 240));
      if (layers === 4) continue;
      add(`train 256 x 56, ${name}`, "tokens/s", () => train(engine, 256, 56));
      add(`sample 256 x 56, ${name}`, "tokens/s", () => sample(engine, 256, 16, 40));
    }
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const measure of round % 2 === 0 ? measures : [...measures].reverse()) {
      const speed = await measure.once();
      if (round > 0) measure.speeds.push(speed);
    }
  }
  const build = engines[0]?.build ?? "";
  for (const engine of engines) await engine.close();
  const rows = measures.map(toRow);
  const result: EngineBench = {
    ...{ bench: "engine", cpu: cpus()[0]?.model ?? "unknown", node: process.version, build },
    ...{ loadBefore, loadAfter: loadavg(), rows },
  };
  print(result);
  return result;
}

async function open(layers: number, width: number, threads: number): Promise<Engine> {
  const shape = { layers, width, context: 256 };
  const limits = { slotsPerThread: 48, snapshotsMax: 3, memoryBytesMax: 2 * 1024 ** 3, forceGeneric: false };
  const engine = await openEngine({ shape, vocab: VOCAB, threads, ...limits });
  await engine.use((addon, handle) => addon.initialize(handle, { seed: 1n }));
  await engine.use((addon, handle) => addon.snapshot(handle, { index: 0 }));
  return engine;
}

/** By processor time in both places: the addon measures its own thread, without making the matrices. */
async function product(engine: Engine, size: number): Promise<Speed> {
  const perCpuSecond = await engine.use((addon, handle) => addon.bench(handle, { size }));
  return { perSecond: perCpuSecond, perCpuSecond };
}

/** Tokens per second of one whole step: forward, backward, norm, Adam, repacking of the weights. */
async function train(engine: Engine, count: number, length: number): Promise<Speed> {
  const random = randomFrom(7n);
  const sequences = Array.from({ length: count }, () => ({
    tokens: Int32Array.from({ length }, () => random.integer(0, VOCAB - 1)),
    mask: new Uint8Array(length).fill(1).fill(0, 0, 1),
  }));
  const plan = planBatch(sequences, engine.config.threads, engine.config.rows);
  const coefficients = Float32Array.from(plan.mask, (value) => value / plan.mask.length);
  const outputs = { logprobs: new Float32Array(count * length), entropy: new Float32Array(count * length) };
  const temperatures = new Float32Array(count).fill(1);
  const call = { ...plan, ...outputs, coefficients, temperatures, weights: -1 };
  return timed(count * length, async () => {
    await engine.use((addon, handle) => addon.train(handle, call));
    await engine.use((addon, handle) => addon.optimize(handle, ADAM));
  });
}

/** Sampled tokens per second, draws and prompts included; groups of eight share a prompt. */
async function sample(engine: Engine, count: number, promptTokens: number, tokensMax: number): Promise<Speed> {
  const random = randomFrom(9n);
  const stopIds = new Int32Array(0);
  let next = 0;
  let done = 0;
  let promptIds = new Int32Array(promptTokens);
  const turn = (addon: EngineAddon, handle: EngineHandle): Promise<number> => {
    for (; next < count; next += 1) {
      if (next % 8 === 0) promptIds = promptIds.map(() => random.integer(0, VOCAB - 1));
      const request = { id: next, snapshot: 0, promptIds, stopIds, tokensMax, temperature: 1, seed: BigInt(next) };
      if (!addon.submit(handle, request)) break;
    }
    return addon.sample(handle, { steps: 8 }).then(() => addon.collect(handle).length);
  };
  return timed(count * tokensMax, async () => {
    while (done < count) done += await engine.use(turn);
  });
}

function toRow({ name, unit, speeds }: Measure): EngineRow {
  const sorted = speeds.map(({ perSecond }) => perSecond).sort((a, b) => a - b);
  const perCpuSecond = median(speeds.map((speed) => speed.perCpuSecond));
  const range = { low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN };
  return { name, unit, median: median(sorted), ...range, perCpuSecond, rounds: sorted.length };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print({ cpu, node, loadBefore, loadAfter, rows }: EngineBench): void {
  const figure = (value: number): string => Math.round(value).toLocaleString("en-US");
  const load = (values: readonly number[]): string => (values[0] ?? 0).toFixed(2);
  console.log(`engine on ${cpu}, Node ${node}; load average ${load(loadBefore)} before, ${load(loadAfter)} after`);
  for (const row of rows) {
    const range = `${figure(row.low)} to ${figure(row.high)}, ${row.rounds} rounds`;
    const cpu = `${figure(row.perCpuSecond)} per CPU second`;
    console.log(`  ${row.name.padEnd(34)} ${figure(row.median).padStart(8)} ${row.unit} (${range}); ${cpu}`);
  }
}

if (import.meta.main) await run();
