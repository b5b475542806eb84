/** `sandlot task generate`: writes tasks of a generator as folders. */
import { type Command, InvalidArgumentError } from "commander";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { wholeNumber } from "./evaluate.ts";
import { EXIT } from "./exit-code.ts";

interface GenerateFlags {
  readonly out: string;
  readonly split: string;
  readonly count: number;
  readonly seed: number;
  readonly exactSeed?: bigint;
  readonly dial: Readonly<Record<string, number>>;
}

export function addTaskGenerate(task: Command): void {
  task
    .command("generate")
    .description("Writes tasks of a generator as folders; equal seeds and dials give equal bytes.")
    .argument("<generator>", "folder of the generator")
    .requiredOption("--out <folder>", "folder to write the task folders into")
    .option("--split <name>", "which of train, held-out and eval", "train")
    .option("--count <count>", "how many", wholeNumber(1), 1)
    .option("--seed <number>", "another seed gives other tasks", wholeNumber(0), 1)
    .option("--exact-seed <number>", "the one seed that [sandlot.generator] of a written task names", exactSeed)
    .option("--dial <name=value>", "sets a dial; may be given again", dial, {})
    .addHelpText(
      "after",
      "\nExample:\n  sandlot task generate tasks/generator/data-pipeline --out my-tasks --count 5 --dial rules=4\n",
    )
    .action(action(generate));
}

async function generate(context: CliContext, args: readonly unknown[], options: GenerateFlags): Promise<number> {
  const app = await import("../app.ts");
  const { out, split, count, seed, dial: dials, exactSeed: exact = null } = options;
  const choice = { out, split, count, seed, dials, exactSeed: exact };
  const written = await app.generateTasks(String(args[0]), choice);
  context.json({ tasks: written });
  for (const path of written) context.print(printableLine(path));
  return EXIT.done;
}

function exactSeed(text: string): bigint {
  if (/^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n) return BigInt(text);
  throw new InvalidArgumentError("write a whole number below 2^64.");
}

function dial(text: string, known: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const [, name = "", value = ""] = /^([a-z][A-Za-z0-9-]*)=(-?\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("write NAME=NUMBER, such as tables=6.");
  return { ...known, [name]: Number(value) };
}
