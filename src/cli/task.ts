/** `sandlot task list|show|check`: what tasks there are, what one says, and whether they grade honestly. */
import type { Command } from "commander";
import type { Task } from "../core/task.ts";
import { systemRuntime } from "../runtime/system.ts";
import { action, type CliContext } from "./context.ts";
import { printable, printableLine } from "./escape.ts";
import { wholeNumber } from "./evaluate.ts";
import { EXIT } from "./exit-code.ts";
import { bytesText, countText, durationText, millisText } from "./format.ts";
import { addJudgeOptions, type JudgeFlags, judgeNamed } from "./judge-option.ts";
import { stopSignals } from "./stop-signals.ts";
import { pairsText, tableText } from "./table.ts";
import { addTaskGenerate } from "./task-generate.ts";
import { addTaskSet } from "./task-set.ts";

export function addTask(program: Command): void {
  const task = program.command("task").summary("list, show and check tasks").description("Tasks and generators.");
  task
    .command("list")
    .description("Lists the tasks and generators below a folder.")
    .argument("[folder]", "folder to look in", "tasks")
    .addHelpText("after", "\nExample:\n  sandlot task list tasks\n")
    .action(action(listTasks));
  task
    .command("show")
    .description("Shows one task: instruction, limits, tiers.")
    .argument("<folder>", "the task's folder")
    .addHelpText("after", "\nExample:\n  sandlot task show tasks/code-repair-python/repair-python-statistics\n")
    .action(action(showTask));
  const check = task
    .command("check")
    .description("Proves that tasks are honest: the oracle earns 1, doing nothing 0, wrong solutions less than 1.")
    .argument("[targets...]", "folders of tasks, task folders or generator folders (default: tasks)")
    .option("--repeats <count>", "how often each solution is run", wholeNumber(1), 3)
    .option("--write-manifest", "first write tests/manifest.json of each task folder from its test files")
    .addHelpText("after", "\nExample:\n  sandlot task check tasks --json\n")
    .action(action(checkTasks));
  addJudgeOptions(check);
  addTaskGenerate(task);
  addTaskSet(task);
}

async function listTasks(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const tasks = await app.listTasks(String(args[0]));
  context.json({ tasks });
  const rows = tasks.map(({ kind, folder }) => [kind === "folder" ? "task" : kind, printableLine(folder)]);
  context.print(tableText([{ title: "kind" }, { title: "folder" }], rows));
  return EXIT.done;
}

async function showTask(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const task = await app.showTask(String(args[0]));
  context.json(taskJson(task));
  const { limits, resources, verifier } = task;
  const tiers = verifier.tiers.map(({ name, weight, gate, visibility }) => {
    return `${printableLine(name)} ${weight}${gate ? " (gate)" : ""}${visibility === "visible" ? " (visible)" : ""}`;
  });
  const indented = printable(task.instruction).trimEnd().replaceAll("\n", "\n  ");
  context.print(
    `${context.paint("bold", printableLine(task.key))}  ${printableLine(task.description)}\n${pairsText([
      ["hash", task.hash],
      ["image", `${printableLine(task.image)}, work folder ${printableLine(task.workdir)}`],
      ["files", `${task.files.length} for the agent, ${verifier.kind === "tests" ? verifier.files.length : 0} hidden`],
      ["turns", `at most ${countText(limits.turnsMax)}, ${countText(limits.tokensMax)} tokens`],
      ["time", `agent ${durationText(limits.agentMs / 1_000)}, one command ${durationText(limits.commandMs / 1_000)}`],
      ["sandbox", `${resources.cpus} cores, ${bytesText(resources.memoryBytes)}, ${resources.processesMax} processes`],
      ["verifier", `${verifier.kind}; tiers by weight: ${tiers.join(", ")}`],
      ["solutions", `oracle, ${task.alternatives.length} alternatives, ${task.wrong.length} wrong`],
    ])}\n\n${context.paint("bold", "Instruction")}\n  ${indented}`,
  );
  return EXIT.done;
}

/** A task as plain data: file bodies by size only, 64-bit seeds as text. */
function taskJson(task: Task): object {
  return JSON.parse(
    JSON.stringify(task, (_key, value: unknown) => {
      if (typeof value === "bigint") return value.toString();
      return value instanceof Uint8Array ? { byteCount: value.length } : value;
    }),
  ) as object;
}

async function checkTasks(
  context: CliContext,
  args: readonly unknown[],
  options: JudgeFlags & { readonly repeats: number; readonly writeManifest?: boolean },
): Promise<number> {
  const named = (args[0] as readonly string[] | undefined) ?? [];
  const targets = named.length === 0 ? ["tasks"] : named;
  const app = await import("../app.ts");
  const signals = stopSignals(systemRuntime(), (text) => void process.stderr.write(`${text}\n`), null);
  try {
    if (options.writeManifest === true) {
      for (const line of await app.writeManifests(targets)) process.stderr.write(`${printableLine(line)}\n`);
    }
    const reports = await app.checkTasks(targets, {
      repeats: options.repeats,
      signal: signals.drain,
      judge: judgeNamed(options),
      onEvent: (line) => void process.stderr.write(`${printableLine(line)}\n`),
    });
    context.json({ ok: reports.every(({ verdict }) => verdict === "valid"), tasks: reports });
    for (const report of reports) context.print(reportText(report, context));
    const bad = reports.filter(({ verdict }) => verdict !== "valid");
    context.print(`\n${tallyText(reports)}`);
    if (bad.length === 0) return signals.exitCode() ?? EXIT.done;
    return (
      signals.exitCode() ?? (bad.every(({ verdict }) => verdict === "incomplete") ? EXIT.partial : EXIT.gateFailed)
    );
  } finally {
    signals.dispose();
  }
}

/** `5 checked: 3 valid, 2 invalid (a, b)`. */
function tallyText(reports: readonly TaskReport[]): string {
  const parts = (["valid", "invalid", "error", "incomplete"] as const).flatMap((verdict) => {
    const keys = reports.filter((report) => report.verdict === verdict).map(({ key }) => printableLine(key));
    if (keys.length === 0) return [];
    return [`${keys.length} ${verdict}${verdict === "valid" ? "" : ` (${keys.join(", ")})`}`];
  });
  return `${reports.length} checked: ${parts.join(", ")}`;
}

type TaskReport = Awaited<ReturnType<typeof import("../app.ts").checkTasks>>[number];

/** The verdict of one task, and each check with what was seen. */
function reportText(report: TaskReport, { paint, width, stream }: CliContext): string {
  const color = report.verdict === "valid" ? "green" : report.verdict === "incomplete" ? "yellow" : "red";
  const lines = [
    `${paint(color, report.verdict)}  ${paint("bold", printableLine(report.key))} (${report.kind === "folder" ? "task" : report.kind})`,
  ];
  const idWidth = Math.max(0, ...report.checks.map(({ id }) => id.length));
  for (const { number, id, status, severity, evidence, file, line, durationMs } of report.checks) {
    const mark = paint(status === "pass" ? "green" : status === "fail" && severity === "E" ? "red" : "yellow", status);
    const place = file === null ? "" : ` at ${printableLine(file)}${line === null ? "" : `:${line}`}`;
    const gap = " ".repeat(Math.max(1, 13 - status.length));
    const time = paint("dim", millisText(durationMs));
    const seen = printableLine(evidence) + place;
    // On a terminal what went well is one line; what did not, and what goes to a file, is told whole.
    const room = stream.isTTY === true && status === "pass" ? Math.max(20, width - idWidth - 32) : seen.length;
    const shown = seen.length > room ? `${seen.slice(0, room - 1)}…` : seen;
    lines.push(`  ${mark}${gap}${String(number).padStart(2)} ${id.padEnd(idWidth)}  ${shown}  ${time}`);
  }
  return lines.join("\n");
}
