/**
 * A report of `sandlot task check` as a person reads it: the verdict, then what failed with its remedy, then what is
 * open, then how much went well. Fits 80 columns on a terminal.
 */
import type { CheckReport, CheckResult } from "../app.ts";
import type { CliContext, Paint } from "./context.ts";
import { printableLine } from "./escape.ts";
import { durationText, millisText } from "./format.ts";
import { wrappedWords } from "./table.ts";

const GROUPS = ["fail", "not-assessed", "pass", "skip"] as const;

const VERDICT_COLORS: Readonly<Record<CheckReport["verdict"], Paint>> = {
  valid: "green",
  invalid: "red",
  error: "red",
  timeout: "yellow",
  incomplete: "yellow",
};

/** The verdict of one task with its checks; what went well is a count unless `isVerbose`. */
export function reportText(report: CheckReport, context: CliContext, isVerbose: boolean): string {
  const { paint } = context;
  const { verdict, key, kind, profile, durationMs, episodes, flake } = report;
  const cost = `${durationText(durationMs / 1_000)}, ${episodes} episodes`;
  const lines = [
    `${paint(VERDICT_COLORS[verdict], verdict)}  ${paint("bold", printableLine(key))} ` +
      paint("dim", `(${kind === "folder" ? "task" : kind}, ${profile}, ${cost})`),
  ];
  const folded: string[] = [];
  for (const status of GROUPS) {
    const group = report.checks.filter((check) => check.status === status);
    const isFolded = !isVerbose && (status === "pass" || status === "skip");
    if (isFolded && group.length > 0) folded.push(`${group.length} ${status === "pass" ? "passed" : "not applicable"}`);
    const leftOut = isVerbose ? [] : group.filter(({ evidence }) => evidence === "left out by --only");
    if (leftOut.length > 0) folded.push(`${leftOut.length} left out by --only`);
    if (isFolded) continue;
    for (const check of group) if (!leftOut.includes(check)) lines.push(...checkLines(check, context));
  }
  if (flake?.isQuarantined === true) {
    lines.push(`  ${paint("red", "quarantined")}: ${flake.flips} of ${flake.runs} repeated runs gave another verdict`);
  }
  if (folded.length > 0) lines.push(`  ${paint("dim", folded.join(", "))}`);
  return lines.join("\n");
}

function checkLines(check: CheckResult, { paint, width }: CliContext): readonly string[] {
  const { number, id, status, severity, evidence, file, line, durationMs, waiver, isBroken, isRemembered } = check;
  const color = status === "pass" ? "green" : status === "fail" && severity === "E" ? "red" : "yellow";
  const notes = [
    ...(isBroken ? ["a fault of sandlot"] : []),
    ...(isRemembered ? ["remembered"] : []),
    ...(durationMs > 0 ? [millisText(durationMs)] : []),
  ];
  const head = `  ${paint(color, status)} ${severity} ${String(number).padStart(2)} ${paint("bold", id)}`;
  const place = file === null ? [] : [`${printableLine(file)}${line === null ? "" : `:${line}`}`];
  const isNamed = place[0] !== undefined && evidence.includes(place[0]);
  const indented = (text: string): readonly string[] =>
    wrappedWords(text, Math.max(40, width - 6)).map((each) => `      ${each}`);
  return [
    `${head}${notes.length > 0 ? paint("dim", `  ${notes.join(", ")}`) : ""}`,
    ...indented(printableLine(evidence)),
    ...(isNamed ? [] : place.map((each) => `      ${paint("cyan", each)}`)),
    ...(waiver === null ? [] : indented(`waived: ${printableLine(waiver)}`)),
  ];
}

/** `5 checked: 3 valid, 2 invalid (a, b)`. */
export function tallyText(reports: readonly CheckReport[]): string {
  const parts = (["valid", "invalid", "error", "timeout", "incomplete"] as const).flatMap((verdict) => {
    const keys = reports.filter((report) => report.verdict === verdict).map(({ key }) => printableLine(key));
    if (keys.length === 0) return [];
    return [`${keys.length} ${verdict}${verdict === "valid" ? "" : ` (${keys.join(", ")})`}`];
  });
  return `${reports.length} checked: ${parts.join(", ")}`;
}
