/** `sandlot sandbox`: a person in a fresh sandbox, and how fast sandboxes are on this machine. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ShellRequest } from "../app-sandbox.ts";
import { Failure } from "../core/errors.ts";
import type { NetworkPolicy } from "../core/sandbox.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { atTerminal, LOGIN_SHELL } from "./persons-terminal.ts";
import { PROVIDER_NAMES, providerOption } from "./provider-option.ts";

const MIB = 2 ** 20;

interface ShellOptions {
  readonly provider: ShellRequest["provider"];
  readonly network: NetworkPolicy;
  readonly user: string;
  readonly cpus: number;
  readonly memory: number;
  readonly disk: number;
}

export function addSandbox(program: Command): void {
  const sandbox = program
    .command("sandbox")
    .summary("enter a fresh sandbox, or measure sandboxes")
    .description("Sandboxes by hand.");
  sandbox
    .command("shell")
    .summary("a shell in a fresh sandbox")
    .description("Puts you into a fresh sandbox, and destroys it when the shell ends. Exits as the command exits.")
    .argument("[image]", "host, debian:SUITE+PKG,…, recipe:NAME, oci:REF, folder:PATH, tar:PATH, sha256:HASH", "host")
    .argument("[command...]", "what to run instead of a login shell; put -- before it")
    .addOption(providerOption())
    .addOption(
      new Option("--network <policy>", "off, open, or the hosts to allow: example.org,*.example.com")
        .argParser(networkOf)
        .default({ mode: "off" }, '"off"'),
    )
    .option("--user <name>", "root, agent, verifier, subject or a number", "root")
    .option("--cpus <number>", "share of processor time", positive, 2)
    .option("--memory <MiB>", "memory limit; disk that is not written to may be used as memory too", positive, 1_024)
    .option("--disk <MiB>", "bytes it may write", positive, 1_024)
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot sandbox shell\n  sandlot sandbox shell recipe:ops --network off\n" +
        "  sandlot sandbox shell host -- python3 -c 'print(1)'\n",
    )
    .action(action(shell));
  sandbox
    .command("gc")
    .summary("remove what dead processes left of their sandboxes")
    .description(
      "Removes processes, control groups, folders and containers whose owner is dead. A live owner loses nothing.",
    )
    .addOption(providerOption())
    .addHelpText("after", "\nExample:\n  sandlot sandbox gc --json\n")
    .action(action(gc));
  sandbox
    .command("bench")
    .summary("how fast sandboxes are here")
    .description(
      "Creates, claims, execs, forks, resets and ends of sandboxes, contenders in turn, with tails and load.",
    )
    .argument("[providers...]", "which to measure, the first compared with the others", PROVIDER_NAMES)
    .option("--image <reference>", "image of the sandboxes", "host")
    .option("--scale <number>", "multiplies every count; 1 is what is published", positive, 1)
    .addHelpText("after", "\nExample:\n  sandlot sandbox bench namespace --scale 0.1 --json\n")
    .action(action(bench));
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a positive number.");
  return value;
}

function networkOf(text: string): NetworkPolicy {
  if (text === "off" || text === "open") return { mode: text };
  const hosts = text.split(",").filter((host) => host !== "");
  if (hosts.length === 0) throw new InvalidArgumentError("It must be off, open, or a list of hosts.");
  return { mode: "allow-list", hosts };
}

async function shell(context: CliContext, args: readonly unknown[], options: ShellOptions): Promise<number> {
  const { enterSandbox } = await import("../app-sandbox.ts");
  const command = (args[1] as readonly string[] | undefined) ?? [];
  const request: ShellRequest = {
    image: String(args[0]),
    provider: options.provider,
    network: options.network,
    user: options.user,
    limits: {
      cpus: options.cpus,
      memoryBytes: Math.round(options.memory * MIB),
      diskBytes: Math.round(options.disk * MIB),
      filesMax: 200_000,
      processesMax: 1_024,
      shmBytes: 64 * MIB,
    },
    command: command.length === 0 ? LOGIN_SHELL : command,
  };
  return atTerminal(context, command.length === 0, (terminal, signal) => enterSandbox(request, terminal, signal));
}

async function gc(
  context: CliContext,
  _args: readonly unknown[],
  options: Pick<ShellOptions, "provider">,
): Promise<number> {
  const { sweepSandboxes } = await import("../app-sandbox.ts");
  const report = await sweepSandboxes(options.provider);
  for (const name of report.removed) context.print(`removed  ${printableLine(name)}`);
  const { removed, kept } = report;
  context.print(`${removed.length} removed; ${kept.length} kept, whose owner lives or cannot be proven dead.`);
  context.json(report);
  return EXIT.done;
}

interface BenchOptions {
  readonly image: string;
  readonly scale: number;
}

async function bench(context: CliContext, args: readonly unknown[], options: BenchOptions): Promise<number> {
  const { benchSandboxes, PROVIDERS, sandboxBenchTable } = await import("../app-sandbox.ts");
  const asked = args[0] as readonly string[];
  const providers = PROVIDERS.filter((name) => asked.includes(name)).toSorted(
    (a, b) => asked.indexOf(a) - asked.indexOf(b),
  );
  const unknown = asked.find((name) => !PROVIDERS.some((each) => each === name));
  if (unknown !== undefined) {
    throw new Failure(
      "request_invalid",
      `There is no sandbox provider "${printableLine(unknown)}". Choose from: ${PROVIDERS.join(", ")}.`,
    );
  }
  const result = await benchSandboxes({
    image: options.image,
    providers,
    peers: [],
    absent: [],
    scale: options.scale,
    onStep: (step) => void process.stderr.write(`${context.paint("dim", step)}\n`),
  });
  context.print(sandboxBenchTable(result));
  context.json(result);
  return EXIT.done;
}
