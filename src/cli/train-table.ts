/**
 * What a training run leaves on the screen: did the policy get better, what it took, where it lies, what to try next.
 * Drawn from a TrainSummary alone, so `run show` prints the same table later.
 */
import type { PassRate } from "../core/events.ts";
import type { TrainSummary } from "../run/report.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { bytesText, countText, durationText, numberText, passRateText, percentText, sparkline } from "./format.ts";
import { pairsText, tableText } from "./table.ts";

type Look = Pick<CliContext, "paint" | "width">;

export function trainTable(summary: TrainSummary, look: Look): string {
  const sections = [heading(summary, look), heldOutSection(summary, look), rewardSection(summary, look)];
  sections.push(`${look.paint("bold", "What it took")}\n${pairsText(costPairs(summary))}`);
  const next = nextCommands(summary).map(([command, why]) => [`  ${command}`, `# ${why}`] as const);
  const width = Math.max(...next.map(([command]) => command.length));
  const lines = next.map(([command, why]) => `${command.padEnd(width)}  ${look.paint("dim", why)}`);
  sections.push(`${look.paint("bold", "Worth trying next")}\n${lines.join("\n")}`);
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
  const title = paint("bold", "Held-out pass@1 (95 % interval)");
  if (heldOut === null) return `${title}\n  not measured: the run ended before both evaluations`;
  const row = (name: string, sampled: PassRate, greedy: PassRate | null, hard: PassRate | null): string[] => [
    `  ${name}`,
    passRateText(sampled),
    passRateText(greedy),
    passRateText(hard),
  ];
  const change = (before: PassRate | null, after: PassRate | null): string =>
    before === null || after === null ? "–" : signed(after.passRate - before.passRate);
  const rows = [
    row("before RL (after SFT)", heldOut.before, heldOut.greedyBefore, heldOut.hardBefore),
    row("after RL", heldOut.after, heldOut.greedyAfter, heldOut.hardAfter),
    [
      "  difference",
      change(heldOut.before, heldOut.after),
      change(heldOut.greedyBefore, heldOut.greedyAfter),
      change(heldOut.hardBefore, heldOut.hardAfter),
    ],
  ];
  const columns = [{ title: "" }, { title: "sampled" }, { title: "greedy" }, { title: "harder split" }];
  const used = columns.map((_, index) => index < 2 || rows.some((cells) => cells[index] !== "–"));
  const kept = <T>(cells: readonly T[]): T[] => cells.filter((_, index) => used[index]);
  const apart = heldOut.after.low > heldOut.before.high;
  const verdict = apart ? "the intervals do not overlap" : "the intervals overlap: not a sure difference";
  return `${title}\n${tableText(kept(columns), rows.map(kept))}\n  ${paint(apart ? "green" : "yellow", verdict)}`;
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

function costPairs(summary: TrainSummary): [string, string][] {
  const reused = summary.episodes === 0 ? null : summary.verdictsReused / summary.episodes;
  const effective = summary.effectiveEpisodesPerCoreHour;
  return [
    ["episodes run", countText(summary.episodes)],
    ["sandboxes created", countText(summary.sandboxesCreated)],
    ["verdicts reused", `${countText(summary.verdictsReused)} (${percentText(reused)} of episodes)`],
    ["outcomes", outcomesText(summary.outcomes, "graded")],
    ["failures by class", outcomesText(summary.outcomes, "failed") || "none"],
    ["time by phase", secondsText(summary.secondsByPhase)],
    ["episode time", secondsText(summary.secondsByEpisodePhase)],
    [
      "effective episodes",
      effective === null ? "–" : `${countText(effective)} graded with non-zero advantage per core-hour of RL`,
    ],
    ["data", `${printableLine(summary.dataFolder)} (${bytesText(summary.diskBytes)})`],
  ];
}

/** Outcome classes with their counts: those of `failed`, or all others; most frequent first. */
function outcomesText(outcomes: TrainSummary["outcomes"], part: "graded" | "failed"): string {
  return Object.entries(outcomes)
    .filter(([outcome]) => outcome.startsWith("failed/") === (part === "failed"))
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${countText(count)}`)
    .join(", ");
}

function secondsText(seconds: Readonly<Record<string, number>>): string {
  const total = Object.values(seconds).reduce((sum, value) => sum + value, 0);
  if (total === 0) return "–";
  return Object.entries(seconds)
    .map(([name, value]) => `${name} ${durationText(value)} (${Math.round((100 * value) / total)} %)`)
    .join(", ");
}

/** Three commands that work as printed, with what they are good for. */
function nextCommands(summary: TrainSummary): [string, string][] {
  if (summary.state !== "done") {
    return [
      [`sandlot run resume ${summary.runId}`, "go on where it stopped"],
      [`sandlot run show ${summary.runId}`, "what it has done so far"],
      [`sandlot episode show ${summary.runId} 0`, "replay its first episode"],
    ];
  }
  const last = Math.max(0, summary.episodes - 1);
  return [
    [`sandlot episode show ${summary.runId} ${last}`, "replay one held-out episode, test by test"],
    [
      `sandlot evaluate tasks/generator/first-light --policy ${summary.runId}`,
      "measure this policy again, with pass@k",
    ],
    ["sandlot train recipes/first-light.toml --set rl.steps=120", "train for longer"],
  ];
}
