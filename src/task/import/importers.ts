/** Every format that can be imported, and which of them a source is. */
import { existsSync } from "node:fs";
import { nearestName } from "../../core/naming.ts";
import { taskInvalid } from "../problem.ts";
import { nemoRows, verifiersRows } from "./answer-rows.ts";
import { exercism } from "./exercism.ts";
import { humaneval, mbpp } from "./humaneval.ts";
import type { Importer } from "./import-contract.ts";
import { quixbugs } from "./quixbugs.ts";
import { terminalBench } from "./terminal-bench.ts";

export const IMPORTERS: readonly Importer[] = [
  terminalBench,
  quixbugs,
  exercism,
  humaneval,
  mbpp,
  nemoRows,
  verifiersRows,
];

/** The importer that was named, or the first that knows the source. Throws `task_invalid` where there is none. */
export function importerOf(path: string, format: string | null): Importer {
  if (!existsSync(path)) {
    throw taskInvalid({ file: path, message: "is not there", remedy: "name the file or folder to import" });
  }
  const names = IMPORTERS.map((one) => one.format);
  const found = IMPORTERS.find((one) => (format === null ? one.detects(path) : one.format === format));
  if (found !== undefined) return found;
  const nearest = format === null ? null : nearestName(format, names);
  throw taskInvalid({
    file: path,
    ...(format === null ? {} : { field: "--format", value: format }),
    message: format === null ? "is in no format that is known" : "is no format that is known",
    remedy: nearest === null ? `name one of ${names.join(", ")} with --format` : `write ${nearest}`,
  });
}
