/** What an evaluation leaves on the screen: pass@1, pass@k, each task, and what to look at next. */
import type { EvaluateSummary } from "../run/report.ts";
import { commandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { countText, durationText, numberText, passRateText } from "./format.ts";
import { pairsText, tableText } from "./table.ts";

const TASKS_SHOWN = 20;

export function evaluateTable(summary: EvaluateSummary, { paint }: Pick<CliContext, "paint">): string {
  const failures = Object.entries(summary.outcomes)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${countText(count)}`);
  const pairs: [string, string][] = [
    ["pass@1", paint("bold", passRateText(summary.passAt1))],
    ...summary.passAtK
      .filter(({ k }) => k > 1)
      .map(({ k, value, low, high }): [string, string] => [
        `pass@${k}`,
        `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] (bootstrap over tasks)`,
      ]),
    ["tasks", countText(summary.tasks)],
    ["episodes", countText(summary.episodes)],
    ["outcomes", failures.join(", ") || "none"],
    ["time", durationText(summary.wallSeconds)],
    ["data", printableLine(summary.dataFolder)],
  ];
  const columns = [
    { title: "  task" },
    { title: "solved", align: "right" as const },
    { title: "graded", align: "right" as const },
    { title: "mean reward", align: "right" as const },
  ];
  // Least solved first: those are the ones to look at.
  const share = ({ solved, graded }: { solved: number; graded: number }): number =>
    graded === 0 ? -1 : solved / graded;
  const rows = [...summary.byTask]
    .sort((a, b) => share(a) - share(b))
    .slice(0, TASKS_SHOWN)
    .map((task) => [
      `  ${printableLine(task.key)}`,
      String(task.solved),
      String(task.graded),
      numberText(task.meanReward),
    ]);
  const more = summary.byTask.length - rows.length;
  const rest = more > 0 ? `\n  and ${countText(more)} more; --json lists all` : "";
  const ungraded = summary.outcomes["failed/verifier_fault"] ?? 0;
  const next = `Look at one: ${commandName()} episode show ${printableLine(summary.runId)} 1`;
  return [
    `\n${paint("bold", `evaluation ${printableLine(summary.runId)}`)}\n${pairsText(pairs)}`,
    `${tableText(columns, rows)}${rest}`,
    paint("dim", next),
    ...(ungraded === 0 ? [] : [regradeHint(ungraded, printableLine(summary.runId))]),
  ].join("\n\n");
}

/** What the verifier could not grade is not lost: its final state is stored. */
function regradeHint(count: number, runId: string): string {
  const [what, whose] = count === 1 ? ["1 episode was", "its"] : [`${countText(count)} episodes were`, "their"];
  return `${what} not graded: ${whose} hidden tests or judge failed. Once that is mended, grade what is stored:\n${commandName()} regrade ${runId} --verifier current`;
}
