/** `sandlot task list|show|check`: what tasks there are, what one says, and whether they grade honestly. */
import { Argument, type Command } from "commander";
import type { Task } from "../core/task.ts";
import { action, type CliContext } from "./context.ts";
import { printable, printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { bytesText, countText, durationText } from "./format.ts";
import { pairsText } from "./table.ts";
import { addTaskCheck } from "./task-check.ts";
import { addTaskGenerate } from "./task-generate.ts";
import { addTaskImport } from "./task-import.ts";
import { addTaskList } from "./task-list.ts";
import { addTaskNew } from "./task-new.ts";
import { addTaskSet } from "./task-set.ts";

export function addTask(program: Command): void {
  const task = program.command("task").summary("list, show and check tasks").description("Tasks and generators.");
  addTaskList(task);
  task
    .command("show")
    .description("Shows one task: instruction, limits, tiers.")
    .argument("<folder>", "the task's folder")
    .addHelpText("after", "\nExample:\n  sandlot task show tasks/code-repair-python/repair-python-statistics\n")
    .action(action(showTask));
  task
    .command("schema")
    .description("Prints the fields of task.toml, or of environment/image.toml, as JSON Schema for an editor.")
    .addArgument(new Argument("[file]", "which of the two").choices(["task", "image"]).default("task"))
    .addHelpText("after", "\nExample:\n  sandlot task schema > task.schema.json\n")
    .action(action(printSchema));
  addTaskCheck(task);
  addTaskGenerate(task);
  addTaskSet(task);
  addTaskImport(task);
  addTaskNew(task);
}

async function showTask(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const task = await app.showTask(String(args[0]));
  context.json(taskJson(task));
  const { limits, resources, verifier } = task;
  const tiers = verifier.tiers.map(({ name, weight, gate, visibility }) => {
    return `${printableLine(name)} ${weight}${gate ? " (gate)" : ""}${visibility === "visible" ? " (visible)" : ""}`;
  });
  const indented = printable(task.instruction).trimEnd().replaceAll("\n", "\n  ");
  context.print(
    `${context.paint("bold", printableLine(task.key))}  ${printableLine(task.description)}\n${pairsText([
      ["hash", task.hash],
      ["image", `${printableLine(task.image)}, work folder ${printableLine(task.workdir)}`],
      ["files", `${task.files.length} for the agent, ${verifier.kind === "tests" ? verifier.files.length : 0} hidden`],
      ["turns", `at most ${countText(limits.turnsMax)}, ${countText(limits.tokensMax)} tokens`],
      ["time", `agent ${durationText(limits.agentMs / 1_000)}, one command ${durationText(limits.commandMs / 1_000)}`],
      ["sandbox", `${resources.cpus} cores, ${bytesText(resources.memoryBytes)}, ${resources.processesMax} processes`],
      ...offersOf(task),
      ["verifier", `${verifier.kind}; tiers by weight: ${tiers.join(", ")}`],
      ["solutions", `oracle, ${task.alternatives.length} alternatives, ${task.wrong.length} wrong`],
    ])}\n\n${context.paint("bold", "Instruction")}\n  ${indented}`,
  );
  return EXIT.done;
}

/** What not every task has: a network, a health check, servers and skills for the agent. */
function offersOf({ network, agentNetwork, healthcheck, mcpServers = [], skillsFolder }: Task): [string, string][] {
  const named = (policy: Task["network"]): string =>
    policy.mode === "allow-list" ? `allow-list of ${policy.hosts.join(", ")}` : policy.mode;
  const narrowed = agentNetwork === undefined ? "" : `; the agent's: ${named(agentNetwork)}`;
  const rows: [string, string][] = [
    ["network", network.mode === "off" ? "" : `${named(network)}${narrowed}`],
    ["health check", healthcheck?.command ?? ""],
    ["MCP servers", mcpServers.map(({ name }) => name).join(", ")],
    ["skills", skillsFolder ?? ""],
  ];
  return rows.filter(([, text]) => text !== "").map(([name, text]) => [name, printableLine(text)]);
}

async function printSchema(context: CliContext, args: readonly unknown[]): Promise<number> {
  const app = await import("../app.ts");
  const schema = app.taskSchema(args[0] === "image" ? "image" : "task");
  if (context.isJson) context.json(schema);
  else context.print(JSON.stringify(schema, null, 2));
  return EXIT.done;
}

/** A task as plain data: file bodies by size only, 64-bit seeds as text. */
function taskJson(task: Task): object {
  return JSON.parse(
    JSON.stringify(task, (_key, value: unknown) => {
      if (typeof value === "bigint") return value.toString();
      return value instanceof Uint8Array ? { byteCount: value.length } : value;
    }),
  ) as object;
}
