/**
 * What every command gets: where to print, and how. With `--json` exactly one object goes to stdout and all text to
 * stderr; a reader that closes our stdout early never stops a run.
 */
import { styleText } from "node:util";
import type { Command } from "commander";
import { jsonLine } from "./escape.ts";

export type Paint = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export interface CliContext {
  readonly isJson: boolean;
  readonly isColored: boolean;
  /** Columns to fit in; 100 when not a terminal. */
  readonly width: number;
  /** The stream for people: stdout, or stderr under `--json`. */
  readonly stream: NodeJS.WriteStream;
  /** Prints the result for a person. */
  print(text: string): void;
  /** Prints the one object of `--json`; nothing without it. */
  json(value: unknown): void;
  paint(style: Paint, text: string): string;
}

export interface GlobalOptions {
  readonly json?: boolean;
  readonly debug?: boolean;
  readonly color?: "auto" | "always" | "never";
}

/** Does a command's work and gives its exit code. `args` are the operands as commander processed them. */
export type Work<Options> = (
  context: CliContext,
  args: readonly unknown[],
  options: Options & GlobalOptions,
) => Promise<number>;

/** Adapts a command's work to commander: last parameter of an action is the command itself. */
export function action<Options>(work: Work<Options>): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    const command = parameters.at(-1) as Command;
    const options = command.optsWithGlobals() as Options & GlobalOptions;
    process.exitCode = await work(cliContext(options), command.processedArgs, options);
  };
}

export function cliContext(options: GlobalOptions): CliContext {
  const isJson = options.json === true;
  const stream = isJson ? process.stderr : process.stdout;
  const isColored = hasColor(options.color ?? "auto", stream);
  // The library that draws the board decides by this variable alone, and it is loaded later.
  process.env["FORCE_COLOR"] = isColored ? (process.env["FORCE_COLOR"] ?? "1") : "0";
  return {
    isJson,
    isColored,
    width: stream.columns ?? 100,
    stream,
    print: (text) => void stream.write(`${text}\n`),
    json: (value) => {
      if (isJson) process.stdout.write(`${jsonLine(value)}\n`);
    },
    paint: (style, text) => (isColored ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** Asked first, then NO_COLOR, then FORCE_COLOR, then whether this is a terminal. */
function hasColor(asked: "auto" | "always" | "never", stream: NodeJS.WriteStream): boolean {
  if (asked !== "auto") return asked === "always";
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  return stream.isTTY === true && TERM !== "dumb";
}
