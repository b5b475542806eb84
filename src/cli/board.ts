/**
 * The live board: one screen that redraws itself while a run goes on, drawn with ink from events alone. Loaded only
 * for a terminal. It reads no keys, so Ctrl-C stays an ordinary signal.
 */
import { Box, render, Text, useWindowSize } from "ink";
import { createElement as h, type ReactElement, type ReactNode } from "react";
import type { EventSink, RunPhase } from "../core/events.ts";
import type { RunKind } from "../core/store.ts";
import { type BoardState, EMPTY_BOARD, nextBoard, outcomeKinds } from "./board-state.ts";
import { printableLine } from "./escape.ts";
import { countText, durationText, numberText, percentText, progressBar, rateText, sparkline } from "./format.ts";

const FRAMES_PER_SECOND = 8;
const WIDTH_MIN = 40;
const WIDTH_MAX = 110;
/** Percentage, elapsed time and time left, at their longest. */
const TIMES_WIDTH = 50;

const PHASE_NAMES: Readonly<Record<RunPhase, string>> = {
  setup: "set-up",
  sft: "SFT",
  "evaluate-before": "held-out before RL",
  rl: "RL",
  "evaluate-after": "held-out after RL",
  evaluate: "evaluate",
  done: "done",
};
const PHASES = ["setup", "sft", "evaluate-before", "rl", "evaluate-after"] as const satisfies readonly RunPhase[];

export interface Board {
  readonly onEvent: EventSink;
  /** One more sentence under the board, such as what Ctrl-C has started. */
  readonly say: (text: string) => void;
  /** Leaves the last frame on the screen and gives the terminal back. */
  close(): Promise<void>;
}

/** Draws on `stream`, which must be a terminal. */
export function openBoard(stream: NodeJS.WriteStream, kind: RunKind): Board {
  let state = EMPTY_BOARD;
  let words = `Ctrl-C once finishes ${kind === "train" ? "the step in hand and saves" : "what was begun"}; twice stops at once.`;
  const view = (): ReactElement => h(LiveBoard, { state, words, kind });
  const app = render(view(), {
    stdout: stream,
    exitOnCtrlC: false,
    maxFps: FRAMES_PER_SECOND,
  });
  return {
    onEvent: (event) => {
      state = nextBoard(state, event);
      // Hundreds of episodes may end in a second; the next progress event shows them all.
      if (event.kind !== "episode-finished") app.rerender(view());
    },
    say: (text) => {
      words = text;
      app.rerender(view());
    },
    close: async () => {
      words = "";
      app.rerender(view());
      app.unmount();
      await app.waitUntilExit();
    },
  };
}

interface LiveProps {
  /** An evaluation has no phases, steps or curves to show. */
  readonly kind: RunKind;
  readonly state: BoardState;
  readonly words: string;
}

function LiveBoard(props: LiveProps): ReactElement {
  return h(BoardView, { ...props, columns: useWindowSize().columns });
}

/** The whole board in at most `columns` columns. */
export function BoardView({ state, words, kind, columns }: LiveProps & { readonly columns: number }): ReactElement {
  const isTraining = kind === "train";
  const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, columns - 1));
  return h(
    Box,
    { flexDirection: "column", width, paddingX: 1 },
    h(Heading, { state }),
    ...(isTraining ? [h(PhaseStrip, { key: "phases", state })] : []),
    h(ProgressLine, { state, width: width - 2 }),
    h(Text, null, " "),
    ...(isTraining ? [h(Curve, { key: "curve", state, width: width - 2 })] : []),
    h(Numbers, { state, width: width - 2, isTraining }),
    ...(isTraining ? [h(Text, { key: "gap" }, " "), ...evaluationLines(state, width - 2)] : []),
    ...messageLines(state, words),
  );
}

function dim(text: string): ReactElement {
  return h(Text, { dimColor: true }, text);
}

function Heading({ state }: { readonly state: BoardState }): ReactElement {
  const name = printableLine(state.name);
  const right = state.runId === "" ? "starting" : `run ${printableLine(state.runId)}`;
  return h(
    Box,
    { justifyContent: "space-between" },
    h(Text, { wrap: "truncate" }, h(Text, { bold: true }, "sandlot "), name, state.isResumed ? dim(" (resumed)") : ""),
    h(Text, { dimColor: true, wrap: "truncate" }, ` ${right}`),
  );
}

/** The road ahead: phases behind us, the present one, the ones to come. */
function PhaseStrip({ state }: { readonly state: BoardState }): ReactElement {
  const present = state.phase === null ? -1 : PHASES.indexOf(state.phase as (typeof PHASES)[number]);
  const isOver = state.phase === "done" || state.end === "done";
  const parts = PHASES.flatMap((phase, index): ReactNode[] => {
    const name = PHASE_NAMES[phase];
    const separator = index === 0 ? [] : [h(Text, { key: `${phase}-arrow`, dimColor: true }, " → ")];
    if (isOver || index < present) return [...separator, h(Text, { key: phase, color: "green" }, name)];
    if (index === present) return [...separator, h(Text, { key: phase, bold: true, color: "cyan" }, name)];
    return [...separator, h(Text, { key: phase, dimColor: true }, name)];
  });
  return h(Text, { wrap: "truncate" }, ...parts);
}

function ProgressLine({ state, width }: { readonly state: BoardState; readonly width: number }): ReactElement {
  const { progress } = state;
  if (state.end !== null) {
    const elapsed = progress === null ? "" : ` after ${durationText(progress.elapsedSeconds)}`;
    const color = state.end === "done" ? "green" : "yellow";
    return h(Text, { bold: true, color, wrap: "truncate" }, `${state.end}${elapsed}`);
  }
  if (progress === null) return h(Text, { wrap: "truncate", dimColor: true }, printableLine(state.note) || "…");
  const share = progress.total > 0 ? progress.done / progress.total : null;
  const left = `${countText(progress.done)}/${countText(progress.total)}`.padEnd(11);
  const eta = progress.etaSeconds === null ? "" : `   ETA ${durationText(progress.etaSeconds)}`;
  const right = `${percentText(share).padStart(9)}   elapsed ${durationText(progress.elapsedSeconds)}${eta}`;
  const room = Math.max(8, width - left.length - TIMES_WIDTH);
  const bar = progressBar(progress.done, progress.total, room);
  return h(
    Text,
    { wrap: "truncate" },
    `${left} `,
    h(Text, { color: "cyan" }, bar.full),
    dim(bar.rest),
    h(Text, null, right),
  );
}

/** Reward over RL steps once there are any; before that, loss over SFT steps. */
function Curve({ state, width }: { readonly state: BoardState; readonly width: number }): ReactElement {
  const isReward = state.rewards.length > 0;
  const values = isReward ? state.rewards : state.losses;
  const label = (isReward ? "reward" : "SFT loss").padEnd(13);
  const first = numberText(values[0]);
  const last = numberText(values.at(-1));
  const line = sparkline(values, width - 34);
  return h(
    Text,
    { wrap: "truncate" },
    dim(label),
    h(Text, { bold: true }, last.padEnd(8)),
    h(Text, { color: isReward ? "green" : "yellow" }, line),
    values.length > 1 ? dim(`  from ${first}`) : "",
  );
}

interface Cell {
  readonly label: string;
  readonly value: string;
}

/** Numbers in a grid: as many columns as fit, labels and values each under one another. */
function Numbers(props: {
  readonly state: BoardState;
  readonly width: number;
  readonly isTraining: boolean;
}): ReactElement {
  const { state, width, isTraining } = props;
  const { metrics, progress } = state;
  const kinds = outcomeKinds(state.outcomes);
  const trained: readonly Cell[] = [
    { label: "loss", value: numberText(metrics["loss"]) },
    { label: "KL", value: numberText(metrics["kl"]) },
    { label: "entropy", value: numberText(metrics["entropy"]) },
    { label: "step", value: countText(state.step) },
  ];
  const cells: readonly Cell[] = [
    ...(isTraining ? trained : []),
    { label: "sandboxes/s", value: rateText(progress?.sandboxesPerSecond ?? null) },
    { label: "tokens/s", value: rateText(progress?.tokensPerSecond ?? null) },
    { label: "episodes", value: countText(progress?.episodes ?? null) },
    { label: "failed", value: countText(kinds["failed"] ?? 0) },
  ];
  const perRow = width >= 72 ? 4 : 2;
  const columns = Array.from({ length: perRow }, (_, column) => {
    const labels = cells.filter((_cell, index) => index % perRow === column).map(({ label }) => label.length + 2);
    return Math.max(...labels);
  });
  const spare = Math.floor((width - columns.reduce((sum, label) => sum + label, 0)) / perRow);
  const rows: ReactElement[] = [];
  for (let start = 0; start < cells.length; start += perRow) {
    const row = cells.slice(start, start + perRow).map(({ label, value }, column) => {
      const labelWidth = columns[column] ?? 0;
      const isTrouble = label === "failed" && value !== "0";
      const shown = h(Text, isTrouble ? { color: "yellow" } : null, value.slice(0, spare - 1));
      return h(
        Box,
        { key: label, width: labelWidth + spare },
        h(Text, { wrap: "truncate" }, dim(label.padEnd(labelWidth)), shown),
      );
    });
    rows.push(h(Box, { key: start }, ...row));
  }
  return h(Box, { flexDirection: "column" }, ...rows);
}

/** A pass rate as a ruler from 0 to 1: the interval as a bar, the rate as a mark in it. */
export function intervalRuler(
  rate: { readonly passRate: number; readonly low: number; readonly high: number },
  width: number,
): string {
  const at = (share: number): number => Math.min(width - 1, Math.max(0, Math.round(share * (width - 1))));
  return Array.from({ length: width }, (_, index) => {
    if (index === at(rate.passRate)) return "●";
    return index >= at(rate.low) && index <= at(rate.high) ? "━" : "·";
  }).join("");
}

function evaluationLines(state: BoardState, width: number): ReactElement[] {
  if (state.evaluations.length === 0) return [h(Text, { key: "pass", dimColor: true }, "held-out    not measured yet")];
  const name = (label: string): string => `held-out ${printableLine(label)}`;
  const labelWidth = Math.max(...state.evaluations.map(({ label }) => name(label).length));
  const ruler = Math.max(0, Math.min(40, width - labelWidth - 48));
  return state.evaluations.map(({ label, sampled, greedy }) =>
    h(
      Text,
      { key: `pass-${label}`, wrap: "truncate" },
      dim(`${name(label).padEnd(labelWidth)}  `),
      h(Text, { bold: true }, sampled.passRate.toFixed(3)),
      dim(` [${sampled.low.toFixed(3)}, ${sampled.high.toFixed(3)}] of ${countText(sampled.episodes)}`),
      greedy === null ? "" : dim(`  greedy ${greedy.passRate.toFixed(3)}`),
      ruler < 12 ? "" : h(Text, { color: "green" }, `  ${intervalRuler(sampled, ruler)}`),
    ),
  );
}

function messageLines(state: BoardState, words: string): ReactElement[] {
  const lines = state.warnings.map((message, index) =>
    h(Text, { key: `warning-${index}`, color: "yellow", wrap: "truncate" }, `! ${printableLine(message)}`),
  );
  const hidden = state.warningCount - state.warnings.length;
  if (hidden > 0) lines.push(h(Text, { key: "hidden", dimColor: true }, `  and ${hidden} warnings before these`));
  const stopping = state.stopping === null || state.end !== null ? "" : `Stopping: ${printableLine(state.stopping)}. `;
  const text = `${stopping}${words}`;
  if (text !== "" && state.end === null) lines.push(h(Text, { key: "words", dimColor: true }, text));
  return lines;
}
