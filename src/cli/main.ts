#!/usr/bin/env node
/**
 * The command line: `sandlot …`. Builds the command tree, runs one command, and turns whatever went wrong into one
 * sentence and an exit code. Heavy parts are loaded by the command that needs them, so `--help` is quick.
 */
import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { type Failure, toFailure } from "../core/errors.ts";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor.ts";
import { addEpisode } from "./episode.ts";
import { jsonLine, printable } from "./escape.ts";
import { addEvaluate } from "./evaluate.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { addFinding } from "./finding.ts";
import { addImage } from "./image.ts";
import { addDetect, addRegrade } from "./regrade.ts";
import { addRun } from "./run.ts";
import { addSandbox } from "./sandbox.ts";
import { addSetup } from "./setup.ts";
import { addTask } from "./task.ts";
import { addTrain } from "./train.ts";

function program(): Command {
  const root = new Command("sandlot")
    .description(
      "Trains language models by letting them do things: real sandboxes, hidden tests, reinforcement learning.",
    )
    .version(version(), "--version", "print the version")
    .option("--json", "print one JSON object on stdout, and everything else on stderr")
    .addOption(new Option("--color <when>", "color the output").choices(["auto", "always", "never"]).default("auto"))
    .option("--debug", "print the stack of an error")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("Add --help to see how it is used.")
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  sandlot doctor
  sandlot train recipes/first-light.toml
  sandlot run resume
  sandlot episode show latest 1

Exit codes: 0 done, 1 a gate failed, 2 usage or configuration, 3 the machine lacks something, 4 partial,
70 our mistake, 130 and 143 stopped by a signal. Data lies in SANDLOT_DATA (.sandlot when not set).`,
    );
  for (const add of [
    addTrain,
    addEvaluate,
    addRun,
    addEpisode,
    addFinding,
    addRegrade,
    addDetect,
    addTask,
    addSandbox,
    addImage,
    addDoctor,
    addSetup,
    addCompletion,
  ])
    add(root);
  return root;
}

/** Of the package this file belongs to: two folders up as source, three in `dist/`. */
function version(): string {
  for (const path of ["../../package.json", "../../../package.json"]) {
    try {
      return (JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { version: string }).version;
    } catch {}
  }
  return "unknown";
}

/** Prints what went wrong for a person, and as an object under `--json`; gives the exit code. */
function report(error: unknown, argv: readonly string[]): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done;
    if (argv.includes("--json")) printJsonError("usage", error.message, EXIT.usage);
    return EXIT.usage;
  }
  const failure = toFailure(error);
  // A cancelled command has noted which signal ended it.
  const exitCode =
    failure.code === "cancelled" ? Number(process.exitCode ?? EXIT.interrupted) : exitCodeOf(failure.code);
  process.stderr.write(`${printable(failure.message)}\n`);
  if (argv.includes("--debug")) process.stderr.write(`${stackOf(failure)}\n`);
  else if (exitCode === EXIT.unexpected) {
    process.stderr.write(
      `This is a mistake of Sandlot (code ${failure.code}). Run it again with --debug and report what it prints.\n`,
    );
  }
  if (argv.includes("--json")) printJsonError(failure.code, failure.message, exitCode);
  return exitCode;
}

function printJsonError(code: string, message: string, exitCode: number): void {
  process.stdout.write(`${jsonLine({ error: { code, message, exitCode } })}\n`);
}

function stackOf(failure: Failure): string {
  const parts: string[] = [];
  for (let at: unknown = failure; at instanceof Error; at = at.cause) parts.push(printable(at.stack ?? at.message));
  return parts.join("\ncaused by: ");
}

/** A closed reader (`| head`) ends our printing, never our work. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** Node's notes on its own experimental parts would tear the board; other warnings are kept. */
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") process.stderr.write(`${warning.name}: ${warning.message}\n`);
});

/** An error nobody waited for is our mistake like any other; the process cannot be trusted to go on. */
process.on("uncaughtException", (error) => process.exit(report(toFailure(error), process.argv)));

let exitCode: number;
try {
  await program().parseAsync();
  exitCode = Number(process.exitCode ?? EXIT.done);
} catch (error) {
  exitCode = report(error, process.argv);
}
// Pipes, files and terminals are written synchronously here, so nothing is lost; a left-over handle cannot hold us.
process.exit(exitCode);
