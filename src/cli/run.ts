/** `sandlot run list|show|resume`: the runs of this data folder. */
import type { Command } from "commander";
import type { RunRow, Store, TrajectoryRow } from "../core/store.ts";
import { findingGroups } from "../run/finding-groups.ts";
import type { EvaluateSummary, TrainSummary } from "../run/report.ts";
import { commandName, shippedPath } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { evaluateTable } from "./evaluate-table.ts";
import { EXIT } from "./exit-code.ts";
import { findRun } from "./find-run.ts";
import { cut, findingsSection } from "./finding-text.ts";
import { countText, numberText, sparkline, timeText } from "./format.ts";
import { metricsTable } from "./metrics-table.ts";
import { pairsText, tableText, wrappedList } from "./table.ts";
import { finish } from "./train.ts";
import { trainTable } from "./train-table.ts";
import { watchRun } from "./watch-run.ts";

/** Of each kind, in `run show`. */
const EPISODES_SHOWN = 3;
/** What stands beside the task of an episode: its number, reward, outcome and the gaps. */
const TASK_REST = 40;
const TASK_MIN = 20;

export function addRun(program: Command): void {
  const run = program.command("run").summary("list, show and resume runs").description("The runs of the data folder.");
  run
    .command("list")
    .description("Lists runs, newest first.")
    .addHelpText("after", "\nExample:\n  sandlot run list\n")
    .action(action(listRuns));
  run
    .command("show")
    .description("Shows one run: state, episodes, curves, summary.")
    .argument("<run>", "run id, its beginning, or latest")
    .option("--metrics", "show every stored metric with its meaning instead")
    .addHelpText("after", "\nExamples:\n  sandlot run show latest\n  sandlot run show latest --metrics\n")
    .action(action(showRun));
  run
    .command("resume")
    .description("Goes on with a run that was stopped, halted or killed.")
    .argument("[run]", "run id or its beginning; the newest that can be resumed when left out")
    .addHelpText("after", "\nExample:\n  sandlot run resume\n")
    .action(action(resumeRun));
}

/** Opens the data folder's store for reading and always closes it. */
export async function withReader<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const app = await import("../app.ts");
  const store = await app.openReader(app.dataFolder(process.env));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function listRuns(context: CliContext): Promise<number> {
  return withReader(async (store) => {
    const runs = await store.runs();
    context.json({ runs: runs.map(withoutTexts) });
    if (runs.length === 0) {
      context.print(`No runs yet. Start one: ${commandName()} train ${shippedPath("recipes/first-light.toml")}`);
      return EXIT.done;
    }
    context.print(runsTable(runs, context.width));
    context.print(context.paint("dim", `Look at one: ${commandName()} run show latest`));
    return EXIT.done;
  });
}

const FULL_WIDTH = 100;
/** What stands beside name and state in a narrow terminal: run id, step, day and minute, both rates, and gaps. */
const NARROW_REST = 64;
const NAME_MIN = 8;

/** One line a run. Below 100 columns without the kind, which an evaluation's name tells, and with less of name and time. */
export function runsTable(runs: readonly RunRow[], width: number): string {
  const isWide = width >= FULL_WIDTH;
  const states = runs.map((run) => (run.owner === null ? run.state : `${run.state}, live`));
  const nameRoom = Math.max(NAME_MIN, width - NARROW_REST - Math.max(...states.map((state) => state.length)));
  const columns = [
    { title: "run" },
    ...(isWide ? [{ title: "kind" }] : []),
    { title: "name" },
    { title: "state" },
    { title: "step", align: "right" as const },
    { title: isWide ? "created (UTC)" : "UTC" },
    { title: "pass@1" },
  ];
  const rows = runs.map((run, index) => [
    printableLine(run.runId),
    ...(isWide ? [run.kind] : []),
    isWide ? printableLine(run.name) : cut(printableLine(run.name), nameRoom),
    states[index] ?? "",
    countText(run.step),
    isWide ? timeText(run.createdAt) : timeText(run.createdAt).slice(5, 16),
    passText(run),
  ]);
  return tableText(columns, rows);
}

/** The held-out rates of a finished run: before and after for training, one for an evaluation. */
function passText(run: RunRow): string {
  if (run.summary === null) return "–";
  if (run.kind === "evaluate") {
    const { passAt1 } = JSON.parse(run.summary) as EvaluateSummary;
    return passAt1.episodes === 0 ? "–" : numberText(passAt1.passRate);
  }
  const { heldOut } = JSON.parse(run.summary) as TrainSummary;
  return heldOut === null ? "–" : `${numberText(heldOut.before.passRate)} → ${numberText(heldOut.after.passRate)}`;
}

/** The row for machines: texts that are JSON themselves are given as values. */
function withoutTexts({ config, summary, ...row }: RunRow): object {
  return { ...row, summary: summary === null ? null : JSON.parse(summary) };
}

async function showMetrics(context: CliContext, store: Store, run: RunRow): Promise<number> {
  const { metricCatalogue } = await import("../app.ts");
  const points = await store.points(run.runId);
  context.json({ runId: run.runId, points, catalogue: metricCatalogue });
  context.print(metricsTable(points, metricCatalogue));
  return EXIT.done;
}

async function showRun(
  context: CliContext,
  args: readonly unknown[],
  options: { readonly metrics?: boolean },
): Promise<number> {
  return withReader(async (store) => {
    const run = await findRun(store, String(args[0]));
    if (options.metrics === true) return showMetrics(context, store, run);
    const counts = await store.counts(run.runId);
    const rows = await store.episodes(run.runId);
    const stored = await store.points(run.runId, ["reward", "loss", "kl", "entropy"]);
    // Those of steps that were rolled back are there until the steps are taken again.
    const points = stored.filter(({ step }) => step <= run.step);
    const usage = await store.usage();
    const findings = findingGroups(await store.findings({ runId: run.runId }));
    context.json({ ...withoutTexts(run), config: JSON.parse(run.config), counts, points, usage, findings });
    const owner = run.owner === null ? "" : `, live in process ${run.owner.pid} since ${timeText(run.owner.since)}`;
    const reason = run.reason === null ? "" : `: ${printableLine(run.reason)}`;
    const curves = ["reward", "loss", "kl", "entropy"].flatMap((id): [string, string][] => {
      const values = points.filter((point) => point.id === id).map(({ value }) => value);
      if (values.length === 0) return [];
      const line = sparkline(values, Math.min(50, context.width - 40));
      return [[id, `${context.paint("green", line)}  ${numberText(values[0])} → ${numberText(values.at(-1))}`]];
    });
    context.print(
      `${context.paint("bold", printableLine(run.name))}  ${run.kind} run ${printableLine(run.runId)}\n${pairsText([
        ["state", `${run.state}${reason}${owner}`],
        ["created", `${timeText(run.createdAt)} UTC, last change ${timeText(run.updatedAt)} UTC`],
        ["steps", `${countText(run.step)}, policy version ${run.policyVersion}`],
        [
          "episodes",
          Object.entries(counts)
            .map(([state, count]) => `${state} ${countText(count)}`)
            .join(", "),
        ],
        ...(rows.length === 0 ? [] : [["outcomes", outcomesText(rows, context.width)] as [string, string]]),
        ...curves,
      ])}`,
    );
    context.print(episodesText(rows, context));
    if (findings.length > 0) context.print(`\n${findingsSection(findings, context)}`);
    if (run.summary !== null) context.print(summaryText(run, run.summary, context));
    else if (run.owner === null && run.kind === "train")
      context.print(`\nGo on with it: ${commandName()} run resume ${run.runId}`);
    return EXIT.done;
  });
}

function outcomesText(rows: readonly TrajectoryRow[], width: number): string {
  const classes = new Map<string, number>();
  for (const row of rows) {
    const name = `${row.outcome}/${row.cause}`;
    classes.set(name, (classes.get(name) ?? 0) + 1);
  }
  const counts = [...classes].map(([name, count]) => `${name} ${countText(count)}`);
  return wrappedList(counts, width - 12);
}

/** A few episodes worth a look: failed ones first, then the newest with the most and least reward. */
function episodesText(rows: readonly TrajectoryRow[], { paint, width }: CliContext): string {
  if (rows.length === 0) return "";
  const graded = rows.filter(({ reward }) => reward !== null).sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0));
  const shown = new Set([
    ...rows.filter(({ outcome }) => outcome === "failed").slice(-EPISODES_SHOWN),
    ...graded.slice(0, EPISODES_SHOWN),
    ...graded.slice(-EPISODES_SHOWN),
  ]);
  const columns = [
    { title: "  episode", align: "right" as const },
    { title: "reward", align: "right" as const },
    { title: "outcome" },
    { title: "task" },
  ];
  const cells = [...shown].map((row) => [
    String(row.episodeNo),
    numberText(row.reward),
    row.failure ?? `${row.outcome}/${row.cause}`,
    cut(printableLine(row.taskKey), Math.max(TASK_MIN, width - TASK_REST)),
  ]);
  const hint = paint("dim", `  Replay one: ${commandName()} episode show ${rows[0]?.runId ?? "RUN"} EPISODE`);
  return `\n${paint("bold", "Some episodes")}\n${tableText(columns, cells)}\n${hint}`;
}

function summaryText(run: RunRow, summary: string, context: CliContext): string {
  if (run.kind === "train") return trainTable(JSON.parse(summary) as TrainSummary, context);
  return evaluateTable(JSON.parse(summary) as EvaluateSummary, context);
}

async function resumeRun(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const asked = args[0] === undefined || args[0] === "latest" ? null : String(args[0]);
  const run = asked === null ? null : await withReader((store) => findRun(store, asked));
  const runId = run?.runId ?? null;
  if (run?.state === "done") context.print(`Run ${printableLine(run.runId)} is done; nothing is left to resume.`);
  const seen = await watchRun(context, "train", (watched) =>
    app.resume(runId, { ...watched, dataFolder: app.dataFolder(process.env) }),
  );
  return finish(context, seen);
}
