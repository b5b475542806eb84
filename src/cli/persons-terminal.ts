/**
 * Lends this terminal to a command in a sandbox and takes it back, whatever happens. Where one side is a pipe or a file
 * the command gets plain streams and no terminal.
 */
import type { Terminal } from "../app-sandbox.ts";
import type { TerminalSize } from "../core/exec.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { SIGNAL_EXIT } from "./exit-code.ts";

export const LOGIN_SHELL: readonly string[] = ["/bin/bash", "-l"];

/**
 * What a program may have left behind and no setting of the line undoes: colors, character sets, insert mode, a scroll
 * region, no wrapping, application keys, mouse and focus reports, bracketed paste, the other screen, a hidden cursor.
 * The cursor stays where it is (`\x1b[r` would move it, so it is kept before and fetched back).
 */
const SANE =
  "\x1b[?1047l\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\x1b[4l\x1b[?7h\x1b[?1l\x1b>\x1b[?25h" +
  "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2004l";

/**
 * `isShell` says in one line where the person is. Gives what `work` gives, the exit code, or that of the signal that ended
 * us meanwhile.
 */
export async function atTerminal(
  context: CliContext,
  isShell: boolean,
  work: (terminal: Terminal, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const { stdin } = process;
  const controller = new AbortController();
  let ended: number | null = null;
  const abort = (signal: keyof typeof SIGNAL_EXIT): void => {
    /* Again: whoever asks does not want to wait, for a compiler that runs once, say. The helper cleans up after us. */
    if (ended !== null) process.exit(ended);
    ended = SIGNAL_EXIT[signal];
    process.exitCode = ended;
    controller.abort();
  };
  /* In raw mode Ctrl-C is a key for the shell; these are signals from elsewhere. */
  const signals = Object.keys(SIGNAL_EXIT) as (keyof typeof SIGNAL_EXIT)[];
  for (const signal of signals) process.on(signal, abort);
  try {
    const exitCode = await work(personsTerminal(context, isShell), controller.signal);
    return ended ?? exitCode;
  } finally {
    if (stdin.isTTY) {
      if (stdin.isRaw && process.stdout.isTTY) process.stdout.write(SANE);
      stdin.setRawMode(false);
    }
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
