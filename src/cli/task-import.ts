/** `sandlot task import`: makes task folders of tasks in other formats, and says what could not be carried. */
import type { Command } from "commander";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";

interface ImportFlags {
  readonly out: string;
  readonly format?: string;
  readonly licence?: string;
}

const SHOWN_MAX = 20;

export function addTaskImport(task: Command): void {
  task
    .command("import")
    .description("Makes task folders of tasks in another format; the source stays as it is.")
    .argument("<source>", "file or folder of the other format")
    .requiredOption("--out <folder>", "folder to write the task folders and import-report.json into")
    .option("--format <name>", "the source's format, where it is not told by its files")
    .option("--licence <name>", "licence of the source, kept in metadata.licence")
    .addHelpText(
      "after",
      "\nFormats: terminal-bench, quixbugs, exercism (Python), humaneval, mbpp, nemo-gym, verifiers. Harbor folders need no import.\n" +
        "\nExample:\n  sandlot task import problems.jsonl --format humaneval --out my-tasks --licence MIT\n",
    )
    .action(action(importSource));
}

async function importSource(context: CliContext, args: readonly unknown[], options: ImportFlags): Promise<number> {
  const app = await import("../app.ts");
  const { report, folders } = await app.importTasks(String(args[0]), {
    out: options.out,
    format: options.format ?? null,
    licence: options.licence ?? null,
  });
  context.json({ ...report, folders });
  context.print(`${folders.length} tasks of ${report.format} written to ${printableLine(options.out)}`);
  const notes = report.tasks.flatMap(({ name, notes: all }) => all.map((note) => ({ name, ...note })));
  for (const kind of ["dropped", "unknown", "defaulted"] as const) {
    const some = notes.filter((note) => note.kind === kind);
    const texts = [...new Set(some.map(({ field, text }) => `${field}: ${text}`))];
    if (texts.length > 0) context.print(`\n${context.paint("bold", kind)}`);
    for (const text of texts.slice(0, SHOWN_MAX)) context.print(`  ${printableLine(text)}`);
  }
  if (report.skipped.length > 0) context.print(`\n${context.paint("bold", `${report.skipped.length} skipped`)}`);
  for (const { name, reason } of report.skipped.slice(0, SHOWN_MAX)) {
    context.print(`  ${printableLine(name)}: ${printableLine(reason)}`);
  }
  context.print(
    `\nEverything is in ${printableLine(options.out)}/import-report.json. Next: sandlot task check ${printableLine(options.out)}`,
  );
  return report.tasks.length === 0 ? EXIT.gateFailed : EXIT.done;
}
