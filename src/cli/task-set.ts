/** `sandlot task set show|lock`: what a task set holds, and the lock that pins a version of it. */
import type { Command } from "commander";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { tableText } from "./table.ts";

export function addTaskSet(task: Command): void {
  const set = task.command("set").summary("show and lock task sets").description("Versioned lists of tasks.");
  set
    .command("show")
    .description("Lists the tasks of a set by split, and what changed since its lock.")
    .argument("<file>", "file of the set, such as task-set.toml")
    .addHelpText("after", "\nExample:\n  sandlot task set show task-set.toml\n")
    .action(action(show));
  set
    .command("lock")
    .description("Pins the tasks of the set's version in a lock file beside it.")
    .argument("<file>", "file of the set, such as task-set.toml")
    .addHelpText("after", "\nExample:\n  sandlot task set lock task-set.toml\n")
    .action(action(lock));
}

async function show(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const { set, changes } = await app.showTaskSet(String(args[0]));
  const rows = set.tasks.map(({ task, split, weight }) => ({
    key: task.key,
    family: task.family,
    split,
    weight,
    level: task.difficulty?.level ?? null,
    hash: task.hash,
  }));
  context.json({ name: set.name, version: set.version, tasks: rows, changes });
  context.print(context.paint("bold", `${set.name} ${set.version}`));
  context.print(
    tableText(
      [
        { title: "split" },
        { title: "family" },
        { title: "level", align: "right" },
        { title: "weight", align: "right" },
        { title: "task" },
      ],
      rows.map((row) => [
        row.split,
        printableLine(row.family),
        row.level === null ? "–" : String(row.level),
        row.weight.toPrecision(3),
        printableLine(row.key),
      ]),
    ),
  );
  if (changes.length > 0) context.print(`\nSince its lock:\n  ${changes.map(printableLine).join("\n  ")}`);
  return EXIT.done;
}

async function lock(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const locked = await app.lockTaskSet(String(args[0]));
  context.json(locked);
  context.print(`${printableLine(locked.name)} ${locked.version} is locked with ${locked.tasks.length} tasks.`);
  for (const change of locked.changed) context.print(`  ${printableLine(change)}`);
  return EXIT.done;
}
