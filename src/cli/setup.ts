/** `sandlot setup`: compiles the native parts, once per version of their sources. */
import type { Command } from "commander";
import { systemRuntime } from "../runtime/system.ts";
import { action, type CliContext } from "./context.ts";
import { sayMissing } from "./doctor.ts";
import { durationText } from "./format.ts";
import { missingLines } from "./probe-lines.ts";

/** A compiler at work for longer than this is announced. */
const SILENCE_MS = 800;

interface SetupOptions {
  readonly quiet?: boolean;
  readonly required?: boolean;
}

export function addSetup(program: Command): void {
  program
    .command("setup")
    .summary("build the native parts")
    .description("Compiles the sandbox helper and the training engine with this machine's C compiler.")
    .option("--quiet", "say nothing when all is built already")
    .option("--required", "then check that the machine has all that a run requires, as doctor --required does")
    .addHelpText("after", "\nExample:\n  sandlot setup\n")
    .action(action(setup));
}

async function setup(context: CliContext, _args: readonly unknown[], options: SetupOptions): Promise<number> {
  const app = await import("../app.ts");
  const silence = systemRuntime().timer(SILENCE_MS, () => {
    process.stderr.write("Compiling the native parts; this happens once.\n");
  });
  const builds = await app
    .setup((line) => {
      if (options.quiet !== true) context.print(line);
    })
    .finally(silence);
  for (const { part, compiler, isFresh, durationMs } of builds) {
    if (options.quiet !== true || !isFresh) continue;
    context.print(`${part}: built in ${durationText(durationMs / 1_000)} with ${compiler}`);
  }
  const missing = options.required === true ? missingLines(await app.doctor()) : [];
  context.json({ builds, missing: missing.map(({ name }) => name) });
  return sayMissing(missing);
}
