/** `sandlot task list`: every task and generator below a folder, by family, and what cannot be read. */
import type { Command } from "commander";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { tableText } from "./table.ts";

const FAULTS_SHOWN = 20;

export function addTaskList(task: Command): void {
  task
    .command("list")
    .description("Lists and validates the tasks and generators below a folder.")
    .argument("[folder]", "folder to look in", "tasks")
    .addHelpText("after", "\nExample:\n  sandlot task list tasks\n")
    .action(action(listTasks));
}

async function listTasks(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const tasks = await app.listTasks(String(args[0]));
  context.json({ tasks });
  const read = tasks.filter(({ fault }) => fault === null);
  const families = [...new Set(read.map(({ family }) => family))].sort();
  const rows = families.flatMap((family) =>
    read
      .filter((entry) => entry.family === family)
      .sort((a, b) => order(a.kind) - order(b.kind) || (a.level ?? 0) - (b.level ?? 0))
      .map(({ kind, level, image, folder }, index) => [
        index === 0 ? printableLine(family) : "",
        kind === "generator" ? "generator" : level === null ? "–" : String(level),
        image === null ? "" : printableLine(image),
        printableLine(folder),
      ]),
  );
  const columns = [{ title: "family" }, { title: "level" }, { title: "image" }, { title: "folder" }];
  context.print(tableText(columns, rows));
  const count = (kind: string): number => read.filter((entry) => entry.kind === kind).length;
  context.print(`\n${count("folder")} tasks and ${count("generator")} generators in ${families.length} families`);
  const faults = tasks.filter(({ fault }) => fault !== null);
  if (faults.length === 0) return EXIT.done;
  context.print(context.paint("red", `\n${faults.length} cannot be read:`));
  for (const { fault } of faults.slice(0, FAULTS_SHOWN)) context.print(`  ${printableLine(fault ?? "")}`);
  if (faults.length > FAULTS_SHOWN) context.print(`  and ${faults.length - FAULTS_SHOWN} more`);
  return EXIT.gateFailed;
}

/** Generators stand before the tasks of their family. */
function order(kind: string): number {
  return kind === "generator" ? 0 : 1;
}
