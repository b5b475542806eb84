/** `sandlot task check`: proves that tasks are sound, as text, as one JSON object and as SARIF. */
import { writeFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { systemRuntime } from "../runtime/system.ts";
import { sarifLog } from "./check-sarif.ts";
import { reportText, tallyText } from "./check-text.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { wholeNumber } from "./evaluate.ts";
import { EXIT } from "./exit-code.ts";
import { addJudgeOptions, type JudgeFlags, judgeNamed } from "./judge-option.ts";
import { stopSignals } from "./stop-signals.ts";
import { tableText } from "./table.ts";

interface CheckFlags extends JudgeFlags {
  readonly profile: "quick" | "ci" | "release";
  readonly seeds: number;
  readonly only?: readonly string[];
  readonly taskMinutes?: number;
  readonly resume?: boolean;
  readonly forget?: boolean;
  readonly sarif?: string;
  readonly verbose?: boolean;
  readonly list?: boolean;
  readonly writeManifest?: boolean;
}

type Report = Awaited<ReturnType<typeof import("../app.ts").checkTasks>>[number];

export function addTaskCheck(task: Command): void {
  const check = task
    .command("check")
    .description("Proves that tasks are sound: 51 checks, most of them by running the task in fresh sandboxes.")
    .argument("[targets...]", "folders of tasks, task folders or generator folders (default: tasks)")
    .addOption(
      new Option("--profile <name>", "how thorough: quick (seconds a task), ci (minutes), release (up to an hour)")
        .choices(["quick", "ci", "release"])
        .default("quick"),
    )
    .option("--seeds <count>", "drawn tasks of each generator that are checked", wholeNumber(1, 10_000), 2)
    .option("--only <ids>", "check ids, such as oracle-passes,nop-fails; the others count as not assessed", ids)
    .option("--task-minutes <count>", "most minutes for one task", wholeNumber(1, 10_000))
    .option("--resume", "take final results of unchanged tasks from the last run, and run the others")
    .option("--forget", "let no earlier result of these tasks count")
    .option("--sarif <file>", "also write a SARIF 2.1.0 log")
    .option("--verbose", "list what passed as well")
    .option("--list", "list the checks of the profile and run nothing")
    .option("--write-manifest", "first write tests/manifest.json of each task folder from its test files")
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot task check tasks/sql-query --profile ci\n  sandlot task check my-task --only nop-fails,oracle-passes --json\n" +
        "\nExit codes: 0 valid, 1 a check failed, 2 a task cannot be read, 3 the machine lacks something,\n4 incomplete, 130 interrupted. Results are remembered in SANDLOT_DATA: what failed once stays failed\nuntil the task changes.\n",
    )
    .action(action(checkTasks));
  addJudgeOptions(check);
}

function ids(text: string): readonly string[] {
  const named = text.split(",").map((id) => id.trim());
  if (named.some((id) => !/^[a-z]+(-[a-z]+)*$/.test(id))) {
    throw new InvalidArgumentError("Give ids of checks with commas between; --list shows them.");
  }
  return named;
}

async function checkTasks(context: CliContext, args: readonly unknown[], options: CheckFlags): Promise<number> {
  const app = await import("../app.ts");
  if (options.list === true) return listChecks(context, app, options.profile);
  const unknown = (options.only ?? []).find((id) => !app.checkCatalogue.some((check) => check.id === id));
  if (unknown !== undefined) {
    process.stderr.write(`There is no check ${printableLine(unknown)}; sandlot task check --list shows them.\n`);
    return EXIT.usage;
  }
  const named = (args[0] as readonly string[] | undefined) ?? [];
  const targets = named.length === 0 ? ["tasks"] : named;
  const signals = stopSignals(systemRuntime(), (text) => void process.stderr.write(`${text}\n`), null);
  try {
    if (options.writeManifest === true) {
      for (const line of await app.writeManifests(targets)) process.stderr.write(`${printableLine(line)}\n`);
    }
    const isVerbose = options.verbose === true;
    const reports = await app.checkTasks(targets, {
      profile: options.profile,
      seeds: options.seeds,
      only: options.only ?? [],
      ...(options.taskMinutes === undefined ? {} : { taskMs: options.taskMinutes * 60_000 }),
      isResumed: options.resume === true,
      isForgetting: options.forget === true,
      dataFolder: app.dataFolder(process.env),
      signal: signals.drain,
      judge: judgeNamed(options),
      onReport: (report) => context.print(reportText(report, context, isVerbose)),
    });
    context.print(`\n${tallyText(reports)}`);
    if (options.sarif !== undefined) await writeSarif(options.sarif, reports, app.version());
    const exitCode = signals.exitCode() ?? exitCodeOf(reports);
    context.json({ ok: exitCode === EXIT.done, profile: options.profile, tasks: reports });
    return exitCode;
  } finally {
    signals.dispose();
  }
}

async function writeSarif(file: string, reports: readonly Report[], version: string): Promise<void> {
  await writeFile(file, `${JSON.stringify(sarifLog(reports, version), null, 2)}\n`);
  process.stderr.write(`${printableLine(file)} written\n`);
}

function exitCodeOf(reports: readonly Report[]): number {
  if (reports.some(({ verdict }) => verdict === "error")) return EXIT.unexpected;
  if (reports.some(({ verdict, isUnreadable }) => verdict === "invalid" && !isUnreadable)) return EXIT.gateFailed;
  if (reports.some(({ isUnreadable }) => isUnreadable)) return EXIT.usage;
  return reports.every(({ verdict }) => verdict === "valid") ? EXIT.done : EXIT.partial;
}

function listChecks(
  context: CliContext,
  { checkCatalogue }: typeof import("../app.ts"),
  profile: CheckFlags["profile"],
): number {
  const order = ["quick", "ci", "release"];
  const checks = checkCatalogue.filter((check) => order.indexOf(check.profile) <= order.indexOf(profile));
  context.json({ profile, checks });
  const rows = checks.map(({ number, id, severity, method, profile: least, title }) => {
    return [String(number), id, severity, method, least, title];
  });
  const columns = [
    { title: "", align: "right" as const },
    ...["check", "", "method", "profile", "holds"].map((title) => ({ title })),
  ];
  context.print(tableText(columns, rows));
  return EXIT.done;
}
