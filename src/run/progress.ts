/** Keeps the numbers a board shows and tells them a few times a second: rates over a short window, and the time left. */
import type { EventSink, RunPhase, RunProgress } from "../core/events.ts";
import { outcomeClass } from "../core/outcome.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Trajectory } from "../core/trajectory.ts";

const TELL_EVERY_MS = 250;
const RATE_WINDOW_MS = 5_000;

export interface ProgressBoard {
  /** `done` units of the phase were done by an earlier session. */
  enter(phase: RunPhase, total: number, note: string, done?: number): void;
  /** One more unit of the phase is done. */
  advance(count?: number): void;
  /** Counts an episode that ended for good, and tells how. */
  episodeEnded(episode: Pick<Trajectory, "id" | "outcome" | "tokens">): void;
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
    const rates = ratesAfter(samples, { at: now, sandboxes: sandboxesCreated(), tokens });
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
        ...rates,
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
    episodeEnded: ({ id, outcome, tokens: counted }) => {
      episodes += 1;
      tokens += counted?.sampledCount ?? 0;
      const reward = outcome.kind === "graded" ? outcome.reward : null;
      onEvent({ kind: "episode-finished", episodeId: id, outcome: outcomeClass(outcome), reward });
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

/** Adds a sample, forgets those before the window, and gives the rates over what is left; null while that is too short. */
function ratesAfter(samples: Sample[], last: Sample): Pick<RunProgress, "sandboxesPerSecond" | "tokensPerSecond"> {
  samples.push(last);
  while (samples.length > 2 && last.at - (samples[0]?.at ?? last.at) > RATE_WINDOW_MS) samples.shift();
  const first = samples[0] ?? last;
  const seconds = (last.at - first.at) / 1_000;
  const rate = (count: number): number | null => (seconds < 0.5 ? null : count / seconds);
  return {
    sandboxesPerSecond: rate(last.sandboxes - first.sandboxes),
    tokensPerSecond: rate(last.tokens - first.tokens),
  };
}
