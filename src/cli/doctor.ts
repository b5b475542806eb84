/** `sandlot doctor`: what this machine offers, what is missing, and the command that would mend it. */
import type { Command } from "commander";
import { commandName } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { type MissingLine, missingLines } from "./probe-lines.ts";

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .summary("what this machine can do, and what would enable more")
    .description("Tries what a run needs, and prints per capability its state, the evidence and the remedy.")
    .option("--required", "only the required capabilities; silent when all are there")
    .addHelpText("after", "\nExample:\n  sandlot doctor --json\n")
    .action(action(doctor));
}

async function doctor(
  context: CliContext,
  _args: readonly unknown[],
  options: { required?: boolean },
): Promise<number> {
  const app = await import("../app.ts");
  const reports = await app.doctor();
  const missing = missingLines(reports);
  const exitCode = missing.length === 0 ? EXIT.done : EXIT.environment;
  context.json({ ok: missing.length === 0, missing: missing.map(({ name }) => name), reports });
  if (options.required === true) return sayMissing(missing);
  for (const { provider, lines } of reports) {
    context.print(context.paint("bold", printableLine(provider)));
    const width = Math.max(0, ...lines.map(({ name }) => name.length));
    for (const { name, ok, required, evidence, remedy } of lines) {
      const mark = ok ? context.paint("green", "✓") : context.paint(required ? "red" : "yellow", required ? "✗" : "–");
      context.print(`  ${mark} ${name.padEnd(width)}  ${printableLine(evidence)}`);
      if (!ok && remedy !== null)
        context.print(`    ${" ".repeat(width)}  ${context.paint("dim", printableLine(remedy))}`);
    }
  }
  const end =
    missing.length === 0 ? "All that is required is there." : `Missing: ${missing.map(({ name }) => name).join(", ")}.`;
  context.print(context.paint(missing.length === 0 ? "green" : "red", end));
  return exitCode;
}

/** One sentence on stderr for each required capability that is missing; gives the exit code. */
export function sayMissing(missing: readonly MissingLine[]): number {
  for (const { text } of missing) process.stderr.write(`${text}\n`);
  if (missing.length === 0) return EXIT.done;
  process.stderr.write(`All of it: ${commandName()} doctor\n`);
  return EXIT.environment;
}
