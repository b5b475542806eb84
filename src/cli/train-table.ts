/**
 * What a training run leaves on the screen: did the policy get better, what it took, where it lies, what to try next.
 * Drawn from a TrainSummary alone, so `run show` prints the same table later.
 */
import type { PassRate } from "../core/events.ts";
import type { TrainSummary } from "../run/report.ts";
import { commandName, shippedPath } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { bytesText, countText, durationText, intervalText, numberText, percentText, sparkline } from "./format.ts";
import { pairsText, tableText, wrappedList } from "./table.ts";

/** Columns the labels of a list of pairs take at most. */
const LABELS_WIDTH = 24;

/** Order of phases in the lists of times; a resumed run has them in another one. */
const PHASE_ORDER = ["setup", "sft", "evaluate-before", "rl", "evaluate-after"];
const EPISODE_PHASE_ORDER = ["queue", "boot", "setup", "model", "tool", "freeze", "verify", "commit"];

type Look = Pick<CliContext, "paint" | "width">;

export function trainTable(summary: TrainSummary, look: Look): string {
  const { paint } = look;
  const next = nextCommands(summary).map(([command, why]) => `  ${paint("dim", `# ${why}`)}\n  ${command}`);
  const sections = [
    heading(summary, look),
    heldOutSection(summary, look),
    rewardSection(summary, look),
    `${paint("bold", "What it took")}\n${pairsText(costPairs(summary, look.width - LABELS_WIDTH))}`,
    `${paint("bold", "Worth trying next")}\n${next.join("\n")}`,
  ];
  return `\n${sections.filter((section) => section !== "").join("\n\n")}`;
}

function heading(summary: TrainSummary, { paint }: Look): string {
  const color = summary.state === "done" ? "green" : "yellow";
  const reason = summary.reason === null ? "" : `: ${printableLine(summary.reason)}`;
  const name = printableLine(summary.name);
  const state = paint(color, summary.state);
  return `${paint("bold", name)}  run ${printableLine(summary.runId)}  ${state} after ${durationText(summary.wallSeconds)}${reason}`;
}

function heldOutSection(summary: TrainSummary, { paint }: Look): string {
  const { heldOut } = summary;
  const title = paint("bold", "Held-out pass@1 with 95 % intervals");
  if (heldOut === null) return `${title}\n  not compared: the run ended before the evaluation after RL`;
  const row = (name: string, before: PassRate | null, after: PassRate | null): string[][] => {
    if (before === null || after === null) return [];
    const episodes = before.episodes === after.episodes ? [before.episodes] : [before.episodes, after.episodes];
    const change = signed(after.passRate - before.passRate);
    return [[`  ${name}`, intervalText(before), intervalText(after), change, episodes.map(countText).join(" and ")]];
  };
  const rows = [
    ...row("sampled", heldOut.before, heldOut.after),
    ...row("greedy", heldOut.greedyBefore, heldOut.greedyAfter),
    ...row("harder", heldOut.hardBefore, heldOut.hardAfter),
  ];
  const columns = ["", "before RL, after SFT", "after RL", "difference", "episodes"].map((name) => ({ title: name }));
  const apart = heldOut.after.low > heldOut.before.high || heldOut.after.high < heldOut.before.low;
  const verdict = apart
    ? "The sampled intervals do not overlap."
    : "The sampled intervals overlap: no sure difference.";
  return `${title}\n${tableText(columns, rows)}\n  ${paint(apart ? "green" : "yellow", verdict)}`;
}

function signed(value: number): string {
  return `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`;
}

function rewardSection(summary: TrainSummary, { paint, width }: Look): string {
  const rewards = summary.rewardByStep;
  if (rewards.length === 0) return "";
  const ends = `${numberText(rewards[0])} → ${numberText(rewards.at(-1))}`;
  const line = sparkline(rewards, Math.min(60, width - 30));
  return `${paint("bold", "Reward by step")}  ${ends}  (${countText(summary.stepCount)} steps)\n  ${paint("green", line)}`;
}

function costPairs(summary: TrainSummary, width: number): [string, string][] {
  const reused = summary.episodes === 0 ? null : summary.verdictsReused / summary.episodes;
  const effective = summary.effectiveEpisodesPerCoreHour;
  return [
    ["episodes run", countText(summary.episodes)],
    ["sandboxes created", countText(summary.sandboxesCreated)],
    [
      "verdicts reused",
      `${countText(summary.verdictsReused)}${reused === null ? "" : ` (${percentText(reused)} of episodes)`}`,
    ],
    ["outcomes", outcomesText(summary.outcomes, "graded", width) || "none"],
    ["failures by class", outcomesText(summary.outcomes, "failed", width) || "none"],
    ["time by phase", secondsText(summary.secondsByPhase, PHASE_ORDER, width)],
    // Episodes overlap and wait for a sandbox in `verify`, so this is far more than the wall time.
    ["summed episodes", secondsText(summary.secondsByEpisodePhase, EPISODE_PHASE_ORDER, width)],
    [
      "effective episodes",
      effective === null ? "–" : `${countText(effective)} graded with non-zero advantage per core-hour of RL`,
    ],
    ["data", `${printableLine(summary.dataFolder)} (${bytesText(summary.diskBytes)})`],
  ];
}

/** Outcome classes with their counts: those of `failed`, or all others; most frequent first. */
function outcomesText(outcomes: TrainSummary["outcomes"], part: "graded" | "failed", width: number): string {
  const items = Object.entries(outcomes)
    .filter(([outcome]) => outcome.startsWith("failed/") === (part === "failed"))
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${countText(count)}`);
  return wrappedList(items, width);
}

/** Phases in their order, each with its share; those too short to count are left out. */
function secondsText(seconds: Readonly<Record<string, number>>, order: readonly string[], width: number): string {
  const total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const items = Object.entries(seconds)
    .filter(([, value]) => value / total >= 0.005)
    .sort(([a], [b]) => place(a) - place(b))
    .map(([name, value]) => `${name} ${durationText(value)} (${Math.round((100 * value) / total)} %)`);
  return wrappedList(items, width) || "–";
}

/** Three commands that work as printed, with what they are good for. */
function nextCommands({ runId, state, episodes }: TrainSummary): [string, string][] {
  const sandlot = commandName();
  if (state !== "done") {
    return [
      [`${sandlot} run resume ${runId}`, "go on where it stopped"],
      [`${sandlot} run show ${runId}`, "what it has done so far"],
      episodes === 0
        ? [`${sandlot} run list`, "all runs of this data folder"]
        : [`${sandlot} episode show latest 1`, "replay its first episode"],
    ];
  }
  return [
    [`${sandlot} episode show latest ${Math.max(1, episodes)}`, "replay one held-out episode, test by test"],
    [
      `${sandlot} evaluate ${shippedPath("tasks/generator/first-light")} --policy latest`,
      "measure the trained policy again",
    ],
    [`${sandlot} train ${shippedPath("recipes/first-light.toml")} --set rl.steps=120`, "train for longer"],
  ];
}
