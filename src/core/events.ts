/** What a run tells while it goes: noun, then past verb. Boards, plain lines and JSON are all drawn from these alone. */
import type { OutcomeClass } from "./outcome.ts";

export interface PassRate {
  /** Share of episodes whose reward reached the threshold. */
  readonly passRate: number;
  /** 95 % interval. */
  readonly low: number;
  readonly high: number;
  readonly episodes: number;
}

export type RunPhase = "setup" | "sft" | "evaluate-before" | "rl" | "evaluate-after" | "evaluate" | "done";

/** Numbers of this session of the run, for boards. Rates are over the last seconds; null until known. */
export interface RunProgress {
  readonly phase: RunPhase;
  readonly done: number;
  readonly total: number;
  readonly etaSeconds: number | null;
  readonly elapsedSeconds: number;
  readonly episodes: number;
  readonly sandboxesPerSecond: number | null;
  /** Sampled and trained tokens together. */
  readonly tokensPerSecond: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

export type RunEvent =
  | {
      readonly kind: "run-started";
      readonly runId: string;
      readonly name: string;
      readonly folder: string;
      readonly isResumed: boolean;
    }
  | { readonly kind: "phase-entered"; readonly phase: RunPhase; readonly total: number; readonly note: string }
  | { readonly kind: "progress-made"; readonly progress: RunProgress }
  | {
      readonly kind: "step-taken";
      readonly phase: "sft" | "rl";
      readonly step: number;
      readonly metrics: Readonly<Record<string, number>>;
    }
  | {
      readonly kind: "evaluation-finished";
      readonly label: string;
      readonly step: number;
      readonly sampled: PassRate;
      readonly greedy: PassRate | null;
    }
  | { readonly kind: "checkpoint-saved"; readonly name: string; readonly step: number }
  | {
      readonly kind: "episode-finished";
      readonly episodeId: string;
      readonly outcome: OutcomeClass;
      readonly reward: number | null;
    }
  | { readonly kind: "warning-raised"; readonly message: string }
  | { readonly kind: "run-stopping"; readonly reason: string }
  | { readonly kind: "run-ended"; readonly runId: string; readonly state: "done" | "stopped" | "halted" };

export type EventSink = (event: RunEvent) => void;
