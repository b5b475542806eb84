/** What the board and the plain lines know of a run: the events seen so far, folded into one immutable record. */
import type { PassRate, RunEvent, RunPhase, RunProgress } from "../core/events.ts";
import type { OutcomeClass } from "../core/outcome.ts";

const WARNINGS_KEPT = 3;
const STEPS_KEPT = 10_000;

export interface EvaluationLine {
  readonly label: string;
  readonly sampled: PassRate;
  readonly greedy: PassRate | null;
}

export interface BoardState {
  readonly runId: string;
  readonly name: string;
  readonly folder: string;
  readonly isResumed: boolean;
  readonly phase: RunPhase | null;
  /** Phases entered so far, in order, the present one last. */
  readonly phases: readonly RunPhase[];
  readonly note: string;
  readonly progress: RunProgress | null;
  /** The newest value of each metric. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly step: number | null;
  /** Reward of each RL step, in order. */
  readonly rewards: readonly number[];
  /** Loss of each SFT step, in order. */
  readonly losses: readonly number[];
  /** One per label, in the order they finished. */
  readonly evaluations: readonly EvaluationLine[];
  readonly outcomes: Readonly<Partial<Record<OutcomeClass, number>>>;
  readonly checkpoint: string | null;
  /** The newest few. */
  readonly warnings: readonly string[];
  readonly warningCount: number;
  readonly stopping: string | null;
  readonly end: "done" | "stopped" | "halted" | null;
}

export const EMPTY_BOARD: BoardState = {
  runId: "",
  name: "",
  folder: "",
  isResumed: false,
  phase: null,
  phases: [],
  note: "",
  progress: null,
  metrics: {},
  step: null,
  rewards: [],
  losses: [],
  evaluations: [],
  outcomes: {},
  checkpoint: null,
  warnings: [],
  warningCount: 0,
  stopping: null,
  end: null,
};

/** Pure: the state after one more event. */
export function nextBoard(state: BoardState, event: RunEvent): BoardState {
  switch (event.kind) {
    case "run-started":
      return { ...state, runId: event.runId, name: event.name, folder: event.folder, isResumed: event.isResumed };
    case "phase-entered":
      return {
        ...state,
        phase: event.phase,
        phases: [...state.phases.filter((phase) => phase !== event.phase), event.phase],
        note: event.note,
        progress: null,
      };
    case "progress-made":
      return { ...state, progress: event.progress, metrics: { ...state.metrics, ...event.progress.metrics } };
    case "step-taken":
      return afterStep(state, event.phase, event.step, event.metrics);
    case "evaluation-finished": {
      const line = { label: event.label, sampled: event.sampled, greedy: event.greedy };
      return { ...state, evaluations: [...state.evaluations.filter(({ label }) => label !== line.label), line] };
    }
    case "checkpoint-saved":
      return { ...state, checkpoint: event.name };
    case "episode-finished":
      return { ...state, outcomes: { ...state.outcomes, [event.outcome]: (state.outcomes[event.outcome] ?? 0) + 1 } };
    case "warning-raised":
      return {
        ...state,
        warnings: [...state.warnings, event.message].slice(-WARNINGS_KEPT),
        warningCount: state.warningCount + 1,
      };
    case "run-stopping":
      return { ...state, stopping: event.reason };
    case "run-ended":
      return { ...state, end: event.state };
  }
}

function afterStep(
  state: BoardState,
  phase: "sft" | "rl",
  step: number,
  metrics: Readonly<Record<string, number>>,
): BoardState {
  const { reward, loss } = metrics;
  const isReward = phase === "rl" && reward !== undefined;
  const isLoss = phase === "sft" && loss !== undefined;
  return {
    ...state,
    step,
    metrics: { ...state.metrics, ...metrics },
    rewards: isReward ? [...state.rewards, reward].slice(-STEPS_KEPT) : state.rewards,
    losses: isLoss ? [...state.losses, loss].slice(-STEPS_KEPT) : state.losses,
  };
}

/** Episodes by kind: `graded`, `failed`, `cancelled`. */
export function outcomeKinds(outcomes: BoardState["outcomes"]): Readonly<Record<string, number>> {
  const kinds: Record<string, number> = { graded: 0, failed: 0, cancelled: 0 };
  for (const [outcome, count] of Object.entries(outcomes)) {
    const kind = outcome.split("/")[0] ?? outcome;
    kinds[kind] = (kinds[kind] ?? 0) + count;
  }
  return kinds;
}
