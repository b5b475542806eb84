/** Keeps the numbers a board shows and tells them a few times a second: rates over a short window, and the time left. */
import type { EventSink, RunPhase } from "../core/events.ts";
import type { Runtime } from "../core/runtime.ts";

const TELL_EVERY_MS = 250;
const RATE_WINDOW_MS = 5_000;

export interface ProgressBoard {
  /** `done` units of the phase were done by an earlier session. */
  enter(phase: RunPhase, total: number, note: string, done?: number): void;
  /** One more unit of the phase is done. */
  advance(count?: number): void;
  episodeEnded(sampledTokens: number): void;
  tokensTrained(count: number): void;
  setMetrics(metrics: Readonly<Record<string, number>>): void;
  /** Seconds spent in each phase so far. */
  seconds(): Readonly<Record<string, number>>;
  /** Seconds since this session began. */
  elapsedSeconds(): number;
  close(): void;
}

interface Sample {
  readonly at: number;
  readonly sandboxes: number;
  readonly tokens: number;
}

export function progressBoard(runtime: Runtime, onEvent: EventSink, sandboxesCreated: () => number): ProgressBoard {
  const startedAt = runtime.monotonic();
  const secondsByPhase: Record<string, number> = {};
  const samples: Sample[] = [];
  let phase: RunPhase = "setup";
  /** Up to when the phase's seconds are booked. */
  let phaseAt = startedAt;
  let enteredAt = startedAt;
  let doneBefore = 0;
  let done = 0;
  let total = 0;
  let episodes = 0;
  let tokens = 0;
  let metrics: Readonly<Record<string, number>> = {};
  let cancel = (): void => undefined;

  const closePhase = (): void => {
    const now = runtime.monotonic();
    secondsByPhase[phase] = (secondsByPhase[phase] ?? 0) + (now - phaseAt) / 1_000;
    phaseAt = now;
  };
  const tell = (): void => {
    const now = runtime.monotonic();
    samples.push({ at: now, sandboxes: sandboxesCreated(), tokens });
    while (samples.length > 2 && now - (samples[0]?.at ?? now) > RATE_WINDOW_MS) samples.shift();
    const [first, last] = [samples[0], samples.at(-1)];
    const seconds = first && last ? (last.at - first.at) / 1_000 : 0;
    const rate = (from: number, to: number): number | null => (seconds < 0.5 ? null : (to - from) / seconds);
    const inPhase = (now - enteredAt) / 1_000;
    onEvent({
      kind: "progress-made",
      progress: {
        phase,
        done,
        total,
        etaSeconds: done > doneBefore && total > done ? (inPhase / (done - doneBefore)) * (total - done) : null,
        elapsedSeconds: (now - startedAt) / 1_000,
        episodes,
        sandboxesPerSecond: rate(first?.sandboxes ?? 0, last?.sandboxes ?? 0),
        tokensPerSecond: rate(first?.tokens ?? 0, last?.tokens ?? 0),
        metrics,
      },
    });
  };
  const schedule = (): void => {
    cancel = runtime.timer(TELL_EVERY_MS, () => {
      tell();
      schedule();
    });
  };
  schedule();
  return {
    enter: (next, nextTotal, note, already = 0) => {
      closePhase();
      phase = next;
      enteredAt = runtime.monotonic();
      done = already;
      doneBefore = already;
      total = nextTotal;
      onEvent({ kind: "phase-entered", phase, total, note });
      tell();
    },
    advance: (count = 1) => {
      done += count;
    },
    episodeEnded: (sampledTokens) => {
      episodes += 1;
      tokens += sampledTokens;
    },
    tokensTrained: (count) => {
      tokens += count;
    },
    setMetrics: (values) => {
      metrics = { ...metrics, ...values };
    },
    seconds: () => {
      closePhase();
      return { ...secondsByPhase };
    },
    elapsedSeconds: () => (runtime.monotonic() - startedAt) / 1_000,
    close: () => {
      closePhase();
      tell();
      cancel();
    },
  };
}
