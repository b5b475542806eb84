/** `sandlot setup`: compiles the native parts, once per version of their sources. */
import type { Command } from "commander";
import { action, type CliContext } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { durationText } from "./format.ts";

export function addSetup(program: Command): void {
  program
    .command("setup")
    .summary("build the native parts")
    .description("Compiles the sandbox helper and the training engine with this machine's C compiler.")
    .option("--quiet", "say nothing when all is built already")
    .addHelpText("after", "\nExample:\n  sandlot setup\n")
    .action(action(setup));
}

async function setup(context: CliContext, _args: readonly unknown[], options: { quiet?: boolean }): Promise<number> {
  const app = await import("../app.ts");
  const builds = await app.setup((line) => {
    if (options.quiet !== true) context.print(line);
  });
  for (const { part, compiler, isFresh, durationMs } of builds) {
    if (options.quiet !== true || !isFresh) continue;
    context.print(`${part}: built in ${durationText(durationMs / 1_000)} with ${compiler}`);
  }
  context.json({ builds });
  return EXIT.done;
}
