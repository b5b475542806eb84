/**
 * Findings on the screen: what was seen, how sure it is, where, with the evidence quoted, and what it changes. Plain
 * sentences without accusation; everything quoted is the agent's and made printable first.
 */
import type { FindingRow } from "../core/finding.ts";
import type { FindingGroup } from "../run/finding-groups.ts";
import { commandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { countText, timeText } from "./format.ts";
import { tableText } from "./table.ts";

type Look = Pick<CliContext, "paint" | "width">;

const EXAMPLES_SHOWN = 5;
const EXAMPLE_LINES = 3;

/** The short name of a finding, as lists show it and commands take it. */
export function shortId({ findingId }: Pick<FindingRow, "findingId">): string {
  return findingId.slice(findingId.lastIndexOf("-") + 1);
}

/** A table of detectors and an example of each with its evidence; empty when nothing was found. */
export function findingsSection(groups: readonly FindingGroup[], look: Look): string {
  if (groups.length === 0) return "";
  const columns = [
    { title: "  tier" },
    { title: "detector" },
    { title: "pattern", align: "right" as const },
    { title: "episodes", align: "right" as const },
    { title: "effective", align: "right" as const },
    { title: "open", align: "right" as const },
  ];
  const rows = groups.map(({ tier, detector, pattern, episodes, effective, open }) => [
    `  ${tier}`,
    printableLine(detector),
    String(pattern),
    countText(episodes),
    countText(effective),
    countText(open),
  ]);
  const examples = groups
    .slice(0, EXAMPLES_SHOWN)
    .map(({ example }) => `${headText(example, look)}\n${bodyText(example, look, EXAMPLE_LINES)}`);
  const runId = groups[0]?.example.runId ?? "RUN";
  const next = look.paint("dim", `  All of them: ${commandName()} finding list ${printableLine(runId)}`);
  return `${look.paint("bold", "Findings")}\n${tableText(columns, rows)}\n\n${examples.join("\n")}\n${next}`;
}

/** One finding with all of its evidence. */
export function findingText(row: FindingRow, look: Look): string {
  return `${headText(row, look)}\n${bodyText(row, look, row.evidence.length)}`;
}

function headText(row: FindingRow, { paint }: Look): string {
  const color = row.tier === "A" ? "red" : row.tier === "B" ? "yellow" : "cyan";
  const name = `${printableLine(row.detector)} v${row.detectorVersion}`;
  return `  ${paint(color, `${row.tier} ${name}`)}  ${row.effect}, ${row.review}  ${paint("dim", shortId(row))}`;
}

function bodyText(row: FindingRow, { paint, width }: Look, linesMax: number): string {
  const place = placeText(row);
  const lines = [`    ${printableLine(row.summary)}`, ...place.map((line) => `    ${cut(line, width - 4)}`)];
  for (const line of row.evidence.slice(0, linesMax)) {
    lines.push(`    ${paint("dim", "│")} ${cut(printableLine(line), width - 6)}`);
  }
  const more = row.evidence.length - linesMax;
  if (more > 0) lines.push(`    ${paint("dim", `│ … ${more} more`)}`);
  lines.push(`    ${paint("dim", effectText(row))}`);
  return lines.join("\n");
}

function placeText({ episodeNo, turn, file, line, taskKey, policyVersion, pattern }: FindingRow): readonly string[] {
  const at = file === null ? "" : `, ${printableLine(file)}${line === null ? "" : `:${line}`}`;
  const when = turn === null ? "" : `, turn ${turn}`;
  return [
    `episode ${episodeNo}${when}${at}`,
    `${printableLine(taskKey)}, policy version ${policyVersion}, pattern ${pattern}`,
  ];
}

/** What the finding changes, in words. */
export function effectText({ tier, isPunished, review }: Pick<FindingRow, "tier" | "isPunished" | "review">): string {
  const isCleared = review === "legitimate" || review === "detector-defect";
  if (tier === "A" && isPunished) {
    return isCleared
      ? "effect: cleared; sandlot regrade --adopt gives it its verdict's reward"
      : "effect: the outcome is cheating, by the run's option reward.cheating";
  }
  if (tier !== "A" && tier !== "B") return "effect: none on reward or training";
  if (isCleared) return "effect: none any more; the episode trains again";
  if (review === "task-defect") return "effect: no episode of this task trains, in any run";
  const until = review === "confirmed" ? "" : " until it is reviewed";
  return `effect: the reward stays; tokens it rewards do not train${until}`;
}

export function reviewText(
  reviews: readonly { decision: string; author: string; reason: string; decidedAt: number }[],
): string {
  return reviews
    .map(({ decision, author, reason, decidedAt }) => {
      const who = printableLine(author);
      return `  ${timeText(decidedAt)} UTC  ${decision} by ${who}: ${printableLine(reason)}`;
    })
    .join("\n");
}

/** At most `width` characters; what is left out is marked. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(1, width - 1)).join("")}…`;
}
