/** What a machine lacks, in sentences a person can act on. */
import type { ProbeReport } from "../core/sandbox.ts";
import { printableLine } from "./escape.ts";

export interface MissingLine {
  readonly provider: string;
  readonly name: string;
  /** One sentence: what, how we know, and the remedy. */
  readonly text: string;
}

/** Each required capability that is missing, over all reports. */
export function missingLines(reports: readonly ProbeReport[]): readonly MissingLine[] {
  return reports.flatMap(({ provider, lines }) =>
    lines
      .filter(({ ok, required }) => required && !ok)
      .map(({ name, evidence, remedy }) => ({
        provider,
        name,
        text: printableLine(`${name} is missing (${evidence}).${remedy === null ? "" : ` ${remedy}`}`),
      })),
  );
}
