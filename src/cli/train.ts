/** `sandlot train RECIPE`: the closed loop, watched. */
import type { Command } from "commander";
import type { LoadedRecipe } from "../run/load-recipe.ts";
import type { TrainSummary } from "../run/report.ts";
import { action, type CliContext } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { countText } from "./format.ts";
import { missingLines } from "./probe-lines.ts";
import { pairsText } from "./table.ts";
import { trainTable } from "./train-table.ts";
import { type Seen, watchRun } from "./watch-run.ts";

interface TrainOptions {
  readonly set?: readonly string[];
  readonly printConfig?: boolean;
  readonly dryRun?: boolean;
}

export function addTrain(program: Command): void {
  program
    .command("train")
    .summary("train a policy by a recipe")
    .description("Trains a policy: demonstrations first, then reinforcement learning in real sandboxes.")
    .argument("<recipe>", "recipe file (TOML)")
    .option("--set <key=value>", "set one value of the recipe; may be repeated", collect)
    .option("--print-config", "print each value with where it came from, and start nothing")
    .option("--dry-run", "check the recipe and the machine, print the plan, and start nothing")
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot train recipes/first-light.toml\n  sandlot train recipes/first-light.toml --set rl.steps=10 --set seed=7\n",
    )
    .action(action(train));
}

/** Gathers a repeated option. */
function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function train(context: CliContext, args: readonly unknown[], options: TrainOptions): Promise<number> {
  const { loadRecipe, printRecipe } = await import("../run/load-recipe.ts");
  const loaded = await loadRecipe(String(args[0]), options.set ?? [], process.env);
  if (options.printConfig === true) {
    if (context.isJson) context.json({ recipe: loaded.recipe, origins: Object.fromEntries(loaded.origins) });
    else context.print(printRecipe(loaded));
    return EXIT.done;
  }
  const app = await import("../app.ts");
  if (options.dryRun === true) return dryRun(context, loaded);
  const seen = await watchRun(context, "train", (watched) =>
    app.train(loaded, { ...watched, dataFolder: app.dataFolder(process.env) }),
  );
  return finish(context, seen);
}

/** Prints the summary of a training run and gives its exit code. Also used by `run resume`. */
export function finish(context: CliContext, { value: summary, signalExit }: Seen<TrainSummary>): number {
  context.print(trainTable(summary, context));
  context.json(summary);
  if (summary.state === "done") return EXIT.done;
  if (summary.state === "stopped" && signalExit !== null) return signalExit;
  return EXIT.partial;
}

async function dryRun(context: CliContext, { recipe }: LoadedRecipe): Promise<number> {
  const { doctor } = await import("../app.ts");
  const missing = missingLines(await doctor());
  const { sft, rl, evaluation, policy } = recipe;
  const trained = rl.steps * rl.groupsPerBatch * rl.groupSize;
  const hard = recipe.tasks.heldOutHard;
  const ways = (evaluation.isGreedyReported ? 2 : 1) + (hard === "" ? 0 : 1);
  const evaluated = evaluation.episodes * 2 * ways;
  const splits = `${recipe.tasks.heldOut}${hard === "" ? "" : ` and ${hard}`}`;
  const plan = {
    name: recipe.name,
    sftSteps: sft.steps,
    rlSteps: rl.steps,
    trainEpisodes: trained,
    heldOutEpisodes: evaluated,
    missing,
  };
  context.print(
    `${context.paint("bold", `Plan of ${recipe.name}`)} (nothing was started)\n${pairsText([
      ["policy", `${policy.backend}, ${policy.preset}`],
      [
        "SFT",
        `${countText(sft.demonstrations)} demonstrations, ${countText(sft.steps)} steps of ${countText(sft.batch)}`,
      ],
      [
        "RL",
        `${countText(rl.steps)} steps of ${rl.groupsPerBatch} groups of ${rl.groupSize}: ${countText(trained)} episodes`,
      ],
      ["held-out", `${countText(evaluated)} episodes on ${splits}, half before RL and half after`],
      ["machine", missing.length === 0 ? "has all that is required" : missing.map(({ text }) => text).join("\n")],
    ])}`,
  );
  context.json(plan);
  return missing.length === 0 ? EXIT.done : EXIT.environment;
}
