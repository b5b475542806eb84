/** `sandlot evaluate TASKS`: how often a policy solves tasks, with intervals. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ProviderName } from "../app-provider.ts";
import { action, type CliContext } from "./context.ts";
import { evaluateTable } from "./evaluate-table.ts";
import { EXIT } from "./exit-code.ts";
import { findingsSection } from "./finding-text.ts";
import { addJudgeOptions, type JudgeFlags, judgeNamed } from "./judge-option.ts";
import { providerOption } from "./provider-option.ts";
import { watchRun } from "./watch-run.ts";

interface EvaluateFlags extends JudgeFlags {
  readonly policy: string;
  readonly baseUrl?: string;
  readonly keyVariable?: string;
  readonly episodes: number;
  readonly k: readonly number[];
  readonly split?: string;
  readonly tasksMax: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly temperature: number;
  readonly snapshots: "none" | "turns";
  readonly provider: ProviderName;
  readonly failBelow?: number;
}

/** Of tasks, of episodes each, and of episodes in flight: all are planned in memory. */
const COUNT_MAX = 100_000;

export function addEvaluate(program: Command): void {
  const command = program
    .command("evaluate")
    .summary("pass@1, pass@k and their intervals")
    .description("Runs a policy on tasks and reports how often it solves them, with 95 % intervals.")
    .argument("<tasks>", "a folder of tasks, one task's folder, or a generator's folder")
    .option(
      "--policy <policy>",
      "oracle, nop, script:FILE, openai:MODEL, or a training run: its id or latest",
      "oracle",
    )
    .option("--base-url <url>", "base URL of the OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1")
    .option("--key-variable <name>", "environment variable that holds the endpoint's key")
    .option("--episodes <count>", "episodes per task", wholeNumber(1, COUNT_MAX), 1)
    .option("--k <list>", "k of each pass@k, at most the episodes per task, such as 1,4", wholeNumbers, [1])
    .option("--split <name>", "split of a generator, such as held-out")
    .option("--tasks-max <count>", "most tasks to run", wholeNumber(1, COUNT_MAX), 400)
    .option("--concurrency <count>", "episodes in flight at once", wholeNumber(1, COUNT_MAX), 16)
    .option("--seed <number>", "everything random derives from it", wholeNumber(0), 1)
    .option("--temperature <number>", "sampling temperature of endpoint and trained policies", decimal(0, 4), 1)
    .addOption(
      new Option("--snapshots <when>", "turns keeps what a sandbox holds after each turn, for episode fork")
        .choices(["none", "turns"])
        .default("none"),
    )
    .addOption(providerOption())
    .option("--fail-below <rate>", "exit 1 when pass@1 is below this rate", decimal(0, 1))
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot evaluate tasks --policy oracle\n  sandlot evaluate tasks/generator/first-light --split held-out --policy latest --episodes 4 --k 1,4\n",
    )
    .action(action(evaluate));
  addJudgeOptions(command);
}

async function evaluate(context: CliContext, args: readonly unknown[], flags: EvaluateFlags): Promise<number> {
  const app = await import("../app.ts");
  const options = {
    policy: flags.policy,
    baseUrl: flags.baseUrl ?? null,
    keyVariable: flags.keyVariable ?? null,
    episodesPerTask: flags.episodes,
    k: flags.k,
    split: flags.split ?? null,
    tasksMax: flags.tasksMax,
    concurrency: flags.concurrency,
    seed: flags.seed,
    temperature: flags.temperature,
    snapshots: flags.snapshots,
    provider: flags.provider,
    judge: judgeNamed(flags),
  };
  const { value: summary, signalExit } = await watchRun(context, "evaluate", (watched) =>
    app.evaluate(String(args[0]), options, { ...watched, dataFolder: app.dataFolder(process.env) }),
  );
  context.print(evaluateTable(summary, context));
  const findings = findingsSection(summary.findings ?? [], context);
  if (findings !== "") context.print(`\n${findings}`);
  context.json(summary);
  if (signalExit !== null) return signalExit;
  // A rate over fewer episodes than were asked for is no pass, whatever it says.
  if (summary.passAt1.episodes === 0 || summary.passAt1.episodes < summary.episodes) return EXIT.partial;
  return flags.failBelow !== undefined && summary.passAt1.passRate < flags.failBelow ? EXIT.gateFailed : EXIT.done;
}

/** A parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      const most = max === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${max}`;
      throw new InvalidArgumentError(`Give a whole number of at least ${min}${most}.`);
    }
    return value;
  };
}

function wholeNumbers(text: string): readonly number[] {
  return text.split(",").map(wholeNumber(1));
}

function decimal(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
    return value;
  };
}
