/** `sandlot regrade RUN` and `sandlot detect RUN`: what is graded and looked for again in episodes that are stored. */
import type { Command } from "commander";
import type { RedetectReport, RegradeReport } from "../app-regrade.ts";
import { systemRuntime } from "../runtime/system.ts";
import { commandName } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { findRun } from "./find-run.ts";
import { cut } from "./finding-text.ts";
import { countText, numberText, passRateText } from "./format.ts";
import { addJudgeOptions, type JudgeFlags, judgeNamed } from "./judge-option.ts";
import { withReader } from "./run.ts";
import { stopSignals } from "./stop-signals.ts";
import { pairsText, tableText } from "./table.ts";

const CHANGES_SHOWN = 20;
/** Milliseconds between two lines of progress. */
const TELL_EVERY_MS = 2_000;

export function addRegrade(program: Command): void {
  const command = program
    .command("regrade")
    .summary("grade stored episodes with a changed verifier")
    .description(
      "Grades the stored final state of each episode again, without the policy. The new verdicts stand beside the old ones; " +
        "training takes them only with --adopt.",
    )
    .argument("<run>", "run id, its beginning, or latest")
    .requiredOption(
      "--verifier <folder>",
      "folder of the tasks whose verifiers grade, or current for the run's own as they are now",
    )
    .option("--adopt", "let training take the new rewards from now on")
    .option("--ask-again", "ask judges again instead of taking what they answered")
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot regrade latest --verifier current\n  sandlot regrade latest --verifier tasks --adopt\n",
    )
    .action(action(regrade));
  addJudgeOptions(command);
}

export function addDetect(program: Command): void {
  program
    .command("detect")
    .summary("run the detectors on stored episodes")
    .description(
      "Runs the detectors over the stored records of a run, adds what is new, and says what the run as a whole shows. Outcomes and rewards stay.",
    )
    .argument("<run>", "run id, its beginning, or latest")
    .addHelpText("after", "\nExample:\n  sandlot detect latest\n")
    .action(action(detect));
}

interface RegradeFlags extends JudgeFlags {
  readonly verifier: string;
  readonly adopt?: boolean;
  readonly askAgain?: boolean;
}

async function regrade(context: CliContext, args: readonly unknown[], flags: RegradeFlags): Promise<number> {
  const app = await import("../app.ts");
  const { runId } = await withReader((store) => findRun(store, String(args[0])));
  const report = await watched(context, "graded", (options) =>
    app.regrade(runId, {
      ...options,
      verifier: flags.verifier,
      isAdopted: flags.adopt === true,
      isAskedAgain: flags.askAgain === true,
      judge: judgeNamed(flags),
    }),
  );
  context.json(report);
  context.print(regradeText(report, context));
  return report.failures.length > 0 || report.episodes === 0 ? EXIT.partial : EXIT.done;
}

async function detect(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const { runId } = await withReader((store) => findRun(store, String(args[0])));
  const report = await watched(context, "read", (options) => app.detect(runId, options));
  context.json(report);
  context.print(detectText(report, context));
  return report.unreadable.length + report.failed.length > 0 ? EXIT.partial : EXIT.done;
}

interface Watched {
  readonly dataFolder: string;
  readonly onDone: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** Tells now and then how far it is; the first Ctrl-C stops it. */
async function watched<T>(context: CliContext, verb: string, work: (options: Watched) => Promise<T>): Promise<T> {
  const app = await import("../app.ts");
  const runtime = systemRuntime();
  const signals = stopSignals(runtime, () => undefined, null);
  let toldAt = runtime.monotonic();
  const onDone = (done: number, total: number): void => {
    if (runtime.monotonic() - toldAt < TELL_EVERY_MS) return;
    toldAt = runtime.monotonic();
    context.print(`${verb} ${countText(done)} of ${countText(total)} episodes`);
  };
  try {
    return await work({ dataFolder: app.dataFolder(process.env), onDone, signal: signals.drain });
  } finally {
    const exitCode = signals.exitCode();
    if (exitCode !== null) process.exitCode = exitCode;
    signals.dispose();
  }
}

function regradeText(report: RegradeReport, { paint, width }: CliContext): string {
  const { difference, changes } = report;
  const sign = difference.value > 0 ? "+" : "";
  const adopted = report.isAdopted
    ? "training takes the new rewards from now on"
    : "no; --adopt lets training take the new rewards";
  const pairs: [string, string][] = [
    ["episodes", `${countText(report.episodes)} graded again, ${countText(report.skipped)} without a state to grade`],
    ["pass rate before", passRateText(report.before)],
    ["pass rate after", passRateText(report.after)],
    [
      "difference",
      `${sign}${difference.value.toFixed(3)} [${difference.low.toFixed(3)}, ${difference.high.toFixed(3)}] (95 %, bootstrap over episodes)`,
    ],
    ["changed", `${countText(changes.length)} of ${countText(report.episodes)} episodes`],
    ["adopted", adopted],
  ];
  const tiers = report.byTier.map(({ tier, episodes, before, after, changed }) => [
    `  ${printableLine(tier)}`,
    countText(episodes),
    numberText(before),
    numberText(after),
    countText(changed),
  ]);
  const right = { align: "right" as const };
  const tierTable = tableText(
    [
      { title: "  tier" },
      { title: "episodes", ...right },
      { title: "score before", ...right },
      { title: "after", ...right },
      { title: "changed", ...right },
    ],
    tiers,
  );
  const sections = [
    `${paint("bold", `regrade ${report.regradeId}`)} of run ${printableLine(report.runId)}\n${pairsText(pairs)}`,
    tiers.length === 0 ? "" : tierTable,
    changesText(report, width),
    failuresText(report, width),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function changesText({ changes, runId }: RegradeReport, width: number): string {
  if (changes.length === 0) return "";
  const right = { align: "right" as const };
  const rows = changes
    .slice(0, CHANGES_SHOWN)
    .map(({ episodeNo, before, after, tiers, taskKey }) => [
      String(episodeNo),
      numberText(before),
      numberText(after),
      cut(
        tiers
          .map((tier) => `${printableLine(tier.tier)} ${numberText(tier.before, 2)} → ${numberText(tier.after, 2)}`)
          .join(", "),
        40,
      ),
      cut(printableLine(taskKey), Math.max(16, width - 72)),
    ]);
  const columns = [
    { title: "  episode", ...right },
    { title: "before", ...right },
    { title: "after", ...right },
    { title: "tiers" },
    { title: "task" },
  ];
  const more =
    changes.length > rows.length ? `\n  and ${countText(changes.length - rows.length)} more; --json lists all` : "";
  const next = `  Look at one: ${commandName()} episode show ${printableLine(runId)} ${changes[0]?.episodeNo ?? 1}`;
  return `${tableText(columns, rows)}${more}\n${next}`;
}

function failuresText({ failures }: RegradeReport, width: number): string {
  if (failures.length === 0) return "";
  const lines = failures
    .slice(0, CHANGES_SHOWN)
    .map(({ episodeNo, code, message }) =>
      cut(`  episode ${episodeNo}: ${code}: ${printableLine(message)}`, Math.max(width, 300)),
    );
  const more =
    failures.length > lines.length ? `\n  and ${countText(failures.length - lines.length)} more; --json lists all` : "";
  return `Could not be graded again: ${countText(failures.length)}\n${lines.join("\n")}${more}`;
}

function detectText(report: RedetectReport, { paint, width }: CliContext): string {
  const { byDetector, added, heldBack, alerts, failed, unreadable } = report;
  const right = { align: "right" as const };
  const table = tableText(
    [{ title: "  tier" }, { title: "detector" }, { title: "episodes", ...right }, { title: "findings", ...right }],
    byDetector.map(({ tier, detector, episodes, findings }) => [
      `  ${tier}`,
      printableLine(detector),
      countText(episodes),
      countText(findings),
    ]),
  );
  const lines = [
    `${paint("bold", "Detectors")} over ${countText(report.episodes)} episodes of run ${printableLine(report.runId)}`,
    byDetector.length === 0 ? "  nothing was found" : table,
    `  ${countText(added)} of these findings ${added === 1 ? "is" : "are"} new`,
  ];
  if (heldBack.length > 0)
    lines.push(`  Rewarded tokens of ${countText(heldBack.length)} episodes do not train until a review.`);
  for (const { detector, summary, evidence } of alerts) {
    lines.push(paint("yellow", `  Alert on the run (tier D, ${printableLine(detector)}): ${printableLine(summary)}`));
    lines.push(...evidence.map((line) => `    ${printableLine(line)}`));
  }
  for (const { detector, episodeNo } of failed) {
    lines.push(
      paint("yellow", cut(`  broke on episode ${episodeNo}: ${printableLine(detector)}`, Math.max(width, 200))),
    );
  }
  for (const { episodeNo, message } of unreadable) {
    lines.push(
      paint("yellow", cut(`  episode ${episodeNo} cannot be read: ${printableLine(message)}`, Math.max(width, 200))),
    );
  }
  if (byDetector.length > 0)
    lines.push(paint("dim", `  See them: ${commandName()} finding list ${printableLine(report.runId)}`));
  return lines.join("\n");
}
