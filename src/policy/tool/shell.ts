/**
 * The tool `shell`: one bash kept alive through the episode, so folder, variables and background processes persist.
 * A failing, slow or greedy command is a result. The bash is started by the first call, in the task's work folder.
 */
import type { Tool, ToolContext, ToolResult } from "../../core/environment.ts";
import type { Shell, ShellResult } from "../../core/exec.ts";
import { argumentMistake, mistake } from "./tool-result.ts";

/** The kernel refuses a longer argument; a script that long belongs in a file. */
const COMMAND_BYTES_MAX = 128 * 1024 - 1;

const FIELDS = {
  command: { kind: "string", required: true },
  timeoutMs: { kind: "integer", required: false, min: 1 },
} as const;

export function shellTool(): Tool {
  return {
    name: "shell",
    description:
      "Runs a command in a bash that stays alive: the current folder, variables and background processes persist between calls. Returns standard output and standard error as they came, and the exit code.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", description: "What to run." },
        timeoutMs: { type: "integer", minimum: 1, description: "Stop the command after this many milliseconds." },
      },
      required: ["command"],
      additionalProperties: false,
    },
    open: (context) => {
      let shell: Shell | null = null;
      return {
        async call(args) {
          const wrong = argumentMistake("shell", args, FIELDS) ?? commandMistake(String(args["command"]));
          if (wrong !== null) return mistake(wrong);
          shell ??= await openShell(context());
          // Asked for again: opening the shell may have taken a while, and the time left is counted from now.
          const { timeoutMs, outputBytesMax, signal } = context();
          const asked = typeof args["timeoutMs"] === "number" ? args["timeoutMs"] : timeoutMs;
          const limitMs = Math.min(asked, timeoutMs);
          const result = await shell.run(String(args["command"]), { timeoutMs: limitMs, outputBytesMax, signal });
          return toResult(result, limitMs);
        },
        async close() {
          await shell?.close();
          shell = null;
        },
      };
    },
  };
}

async function openShell(context: ToolContext): Promise<Shell> {
  const sandbox = await context.sandbox();
  return sandbox.shell({ cwd: context.workdir, envVars: context.envVars, user: context.user });
}

function commandMistake(command: string): string | null {
  if (command.includes("\u0000")) return "The field command of shell holds a NUL character, which no command can.";
  if (Buffer.byteLength(command) > COMMAND_BYTES_MAX) {
    return `The field command of shell is longer than ${COMMAND_BYTES_MAX} bytes; write a file and run that.`;
  }
  return null;
}

function toResult(result: ShellResult, limitMs: number): ToolResult {
  return {
    output: withNotes(result, limitMs),
    outputBytesTruncated: result.outputBytesTruncated,
    exitCode: result.exitCode,
    timedOut: result.timedOut,
    oomKilled: result.oomKilled,
    isInvalid: false,
    submitted: null,
  };
}

/** The output, with a line for what the exit code cannot say. */
function withNotes(result: ShellResult, limitMs: number): Uint8Array {
  const notes: string[] = [];
  if (result.timedOut) notes.push(`[stopped at its time limit of ${(limitMs / 1000).toFixed(1)} s]`);
  if (result.oomKilled) notes.push("[a process was killed: the memory limit was reached]");
  if (result.restarted) notes.push("[the shell ended; the next command starts a new one in the first folder]");
  if (notes.length === 0) return result.output;
  const newline = result.output.length === 0 || result.output.at(-1) === 0x0a ? "" : "\n";
  return Buffer.concat([result.output, Buffer.from(`${newline}${notes.join("\n")}\n`)]);
}
