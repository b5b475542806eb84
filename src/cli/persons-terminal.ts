/**
 * Lends this terminal to a command in a sandbox and takes it back, whatever happens. Where one side is a pipe or a file
 * the command gets plain streams and no terminal.
 */
import type { Terminal } from "../app-sandbox.ts";
import type { TerminalSize } from "../core/exec.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";

export const LOGIN_SHELL: readonly string[] = ["/bin/bash", "-l"];

/** `isShell` says in one line where the person is. Gives what `work` gives: the exit code. */
export async function atTerminal(
  context: CliContext,
  isShell: boolean,
  work: (terminal: Terminal, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const { stdin } = process;
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  /* In raw mode Ctrl-C is a key for the shell; these are signals from elsewhere. */
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, abort);
  try {
    return await work(personsTerminal(context, isShell), controller.signal);
  } finally {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    for (const signal of signals) process.off(signal, abort);
  }
}

function personsTerminal(context: CliContext, isShell: boolean): Terminal {
  const { stdin, stdout, stderr } = process;
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const sizeNow = (): TerminalSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  return {
    size: isTerminal ? sizeNow() : null,
    input: stdin,
    write: (stream, bytes) => void (stream === "stdout" ? stdout : stderr).write(bytes),
    onResize: (tell) => {
      if (isTerminal) stdout.on("resize", () => tell(sizeNow()));
    },
    attached: ({ info }) => {
      if (isTerminal && isShell) {
        const what = `${info.provider} sandbox on ${printableLine(info.image)}, network ${info.network}`;
        stderr.write(`${context.paint("dim", `Fresh ${what}. It is destroyed when you leave (Ctrl-D).`)}\n`);
      }
      if (isTerminal) stdin.setRawMode(true);
    },
  };
}
