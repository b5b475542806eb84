/** `sandlot task new`: a whole good task of a family as a folder of one's own, to be rewritten. */
import type { Command } from "commander";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { wholeNumber } from "./evaluate.ts";
import { EXIT } from "./exit-code.ts";

interface NewFlags {
  readonly out: string;
  readonly seed: number;
}

export function addTaskNew(task: Command): void {
  task
    .command("new")
    .description("Writes a whole good task of a family under a new name, for you to rewrite.")
    .argument("<family>", "family of the shipped library; sandlot task list shows them")
    .argument("<name>", "kebab-case name of your task")
    .option("--out <folder>", "folder to write the task's folder into", ".")
    .option("--seed <number>", "another seed begins with another task", wholeNumber(0), 1)
    .addHelpText("after", "\nExample:\n  sandlot task new data-pipeline late-orders --out my-tasks\n")
    .action(action(newTask));
}

async function newTask(context: CliContext, args: readonly unknown[], { out, seed }: NewFlags): Promise<number> {
  const app = await import("../app.ts");
  const folder = await app.newTask(String(args[0]), String(args[1]), { out, seed });
  const path = printableLine(folder);
  context.json({ folder });
  context.print(`${path} is a whole task. Rewrite it piece by piece:

  instruction.md        the end state, with every path and rule that a test asserts
  environment/          what the agent finds, and setup.sh that runs once as root
  tests/TIER/           hidden tests; tests/support/ is for what they share
  solution/, wrong/     the oracle, and solutions that must fail
  task.toml             limits, tiers, requirements

Then: sandlot task check --write-manifest ${path}`);
  return EXIT.done;
}
