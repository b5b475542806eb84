/** The numbers a caller may bound a command with; one that bounds nothing is refused before anything is sent. */
import { Failure } from "../core/errors.ts";
import type { TerminalSize } from "../core/exec.ts";

const TERMINAL_MAX = 65_535;

/** Throws `request_invalid` naming the first bound of a command that bounds nothing. */
export function refuseBadBounds(bounds: Readonly<Record<string, number | undefined>>): void {
  for (const [name, value] of Object.entries(bounds))
    if (value !== undefined && !(value >= 0 && Number.isFinite(value)))
      throw new Failure("request_invalid", `A command's ${name} must be a number from 0 on, not ${value}.`);
}

/** Throws `request_invalid` for a size that no terminal has. */
export function refuseBadTerminal({ columns, rows }: TerminalSize): void {
  for (const value of [columns, rows])
    if (!Number.isInteger(value) || value < 1 || value > TERMINAL_MAX)
      throw new Failure(
        "request_invalid",
        `A terminal has 1 to ${TERMINAL_MAX} columns and rows, not ${columns} x ${rows}.`,
      );
}
