/** Importers of JSON lines: each row becomes a task, or says in the report why not. */
import { basename } from "node:path";
import type { Imported, ImportedTask, Importer, ImportOptions, SkippedTask } from "./import-contract.ts";
import { jsonRows } from "./read-source.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface RowFormat<T> {
  readonly format: string;
  readonly title: string;
  /** What a row says, or the end of a sentence that begins with "The row". */
  read(row: Row, line: number): T | string;
  /** What the report calls a row. */
  nameOf(row: Row | null, line: number): string;
  taskOf(read: T, row: RowSource): ImportedTask;
}

/** Where a row stands. */
export interface RowSource extends ImportOptions {
  readonly format: string;
  /** The file's name and the line. */
  readonly source: string;
}

/** A source is of the format when its first row can be read. */
export function rowImporter<T extends object>({ format, title, read, nameOf, taskOf }: RowFormat<T>): Importer {
  return {
    format,
    title,
    detects: (path) => /\.jsonl?$/.test(path) && typeof read(jsonRows(path)[0]?.value ?? {}, 1) !== "string",
    read: async (path, options): Promise<Imported> => {
      const tasks: ImportedTask[] = [];
      const skipped: SkippedTask[] = [];
      for (const { line, value } of jsonRows(path)) {
        const found = value === null ? "is no JSON object" : read(value, line);
        if (typeof found === "string") skipped.push({ name: nameOf(value, line), line, reason: `The row ${found}.` });
        else tasks.push(taskOf(found, { ...options, format, source: `${basename(path)}:${line}` }));
      }
      return { tasks, skipped };
    },
  };
}
