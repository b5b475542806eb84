/**
 * The sampling front. Many callers ask for a sample each; their requests join one queue and are decoded together, a few
 * steps at a time, so that a request that arrives while others run takes the next free slot, and training may run in
 * between. A sample depends on its own snapshot, prompt and seed, never on who came along.
 */
import { Failure } from "../../core/errors.ts";
import type { PolicySampler, PolicySnapshot, SampleRequest, SampleResult } from "../../core/policy-backend.ts";
import type { EngineAddon, EngineHandle, FinishedSample } from "./addon.ts";
import { type Bounds, checkRequest, checkTokens } from "./check.ts";
import type { Engine } from "./engine.ts";
import { planBatch, splitBatch } from "./plan.ts";
import type { SnapshotShelf } from "./snapshots.ts";

/** Decode steps of one engine call. More would delay training, arrivals and cancellations; fewer cost hand-overs. */
const STEPS_PER_CALL = 8;

interface Waiting {
  readonly id: number;
  readonly snapshot: number;
  readonly request: SampleRequest;
  readonly resolve: (sample: FinishedSample) => void;
  readonly reject: (error: unknown) => void;
}

export function embeddedSampler(engine: Engine, shelf: SnapshotShelf, bounds: Bounds): PolicySampler {
  const front = sampleFront(engine);
  return {
    sample: async (snapshot, requests, signal) => {
      for (const request of requests) checkRequest(request, bounds);
      return shelf.lend(snapshot, "sampler", (index) =>
        Promise.all(requests.map(async (request) => toResult(await front(index, request, signal), snapshot))),
      );
    },
    score: async (snapshot, sequences, signal) => {
      for (const [index, tokens] of sequences.entries()) checkTokens(tokens, `Sequence ${index}`, bounds);
      return shelf.lend(snapshot, "reference", (index) => scoreSequences(engine, index, sequences, signal));
    },
  };
}

function toResult(sample: FinishedSample, snapshot: PolicySnapshot): SampleResult {
  const { ids, logprobs, isStopped } = sample;
  if (!logprobs.every(Number.isFinite)) {
    throw new Failure(
      "policy_not_finite",
      `Policy version ${snapshot.version} gave a log-probability that is not finite.`,
    );
  }
  return { ids, logprobs, stopReason: isStopped ? "stop" : "length", policyVersion: snapshot.version };
}

/** One request's way through the queue; rejects with `cancelled` as soon as its signal aborts. */
type SampleFront = (snapshot: number, request: SampleRequest, signal: AbortSignal) => Promise<FinishedSample>;

function sampleFront(engine: Engine): SampleFront {
  const waiting = new Map<number, Waiting>();
  const running = new Map<number, Waiting>();
  const toCancel = new Set<number>();
  let nextId = 1;
  let isPumping = false;

  /** One engine call: drops what was cancelled, hands in what fits, decodes, and brings back what is done. */
  const turn = async (addon: EngineAddon, handle: EngineHandle): Promise<FinishedSample[]> => {
    for (const id of toCancel) addon.cancel(handle, id);
    toCancel.clear();
    for (const [id, entry] of waiting) {
      const { promptIds, stopIds, tokensMax, temperature, seed } = entry.request;
      const call = {
        id,
        snapshot: entry.snapshot,
        promptIds,
        stopIds: Int32Array.from(stopIds),
        tokensMax,
        temperature,
        seed,
      };
      if (!addon.submit(handle, call)) break;
      waiting.delete(id);
      running.set(id, entry);
    }
    if (running.size === 0) return [];
    await addon.sample(handle, { steps: STEPS_PER_CALL });
    return addon.collect(handle);
  };

  const pump = async (): Promise<void> => {
    // One pass of the event loop, so that callers of the same moment start together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    try {
      while (waiting.size + running.size + toCancel.size > 0) {
        for (const sample of await engine.use(turn)) {
          running.get(sample.id)?.resolve(sample);
          running.delete(sample.id);
        }
      }
    } catch (error) {
      for (const entry of [...waiting.values(), ...running.values()]) entry.reject(error);
      waiting.clear();
      running.clear();
      toCancel.clear();
    } finally {
      isPumping = false;
    }
  };

  return (snapshot, request, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(cancelled(signal));
        return;
      }
      const id = nextId++;
      const abort = (): void => {
        if (running.delete(id)) toCancel.add(id);
        waiting.delete(id);
        reject(cancelled(signal));
      };
      signal.addEventListener("abort", abort, { once: true });
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T): void => {
          signal.removeEventListener("abort", abort);
          how(value);
        };
      waiting.set(id, { id, snapshot, request, resolve: settle(resolve), reject: settle(reject) });
      if (!isPumping) {
        isPumping = true;
        void pump();
      }
    });
}

async function scoreSequences(
  engine: Engine,
  snapshot: number,
  sequences: readonly Int32Array[],
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const masked = sequences.map((tokens) => ({ tokens, mask: new Uint8Array(tokens.length).fill(1).fill(0, 0, 1) }));
  const plan = planBatch(masked, engine.config.threads, engine.config.rows);
  const logprobs = new Float32Array(plan.tokens.length);
  await engine.use((addon, handle) => {
    if (signal.aborted) throw cancelled(signal);
    const temperatures = new Float32Array(sequences.length).fill(1);
    return addon.train(handle, {
      ...plan,
      coefficients: null,
      temperatures,
      logprobs,
      entropy: null,
      weights: snapshot,
    });
  });
  return splitBatch(plan, logprobs);
}

function cancelled(signal: AbortSignal): Failure {
  return new Failure("cancelled", "Sampling was cancelled.", { cause: signal.reason });
}
