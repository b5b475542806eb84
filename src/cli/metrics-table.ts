/** Every metric a run has stored, with its curve in short, its unit, which way is better, and what it means. */
import type { MetricPoint } from "../core/store.ts";
import { printableLine } from "./escape.ts";
import { numberText } from "./format.ts";
import { tableText } from "./table.ts";

export interface MetricMeaning {
  readonly id: string;
  readonly unit: string;
  readonly direction: string;
  readonly help: string;
}

const BETTER: Readonly<Record<string, string>> = { "+": "more", "-": "less", "=": "steady", ".": "" };

/** Known metrics in the catalogue's order, then those it does not know by name. Totals of the run are left out. */
export function metricsTable(points: readonly MetricPoint[], catalogue: readonly MetricMeaning[]): string {
  const byId = Map.groupBy(
    points.filter(({ id }) => !id.startsWith("total/")),
    ({ id }) => id,
  );
  const known = catalogue.filter(({ id }) => byId.has(id));
  const other = [...byId.keys()].filter((id) => !catalogue.some((entry) => entry.id === id)).sort();
  const rows = [...known, ...other.map((id) => ({ id, unit: "", direction: ".", help: "" }))].map((entry) => {
    const values = [...(byId.get(entry.id) ?? [])].sort((a, b) => a.step - b.step).map(({ value }) => value);
    const { unit, help } = entry;
    const better = BETTER[entry.direction] ?? "";
    return [printableLine(entry.id), numberText(values[0]), numberText(values.at(-1)), unit, better, help];
  });
  if (rows.length === 0) return "No metric yet.";
  const right = "right" as const;
  return tableText(
    [
      { title: "metric" },
      { title: "first", align: right },
      { title: "last", align: right },
      { title: "unit" },
      { title: "better" },
      { title: "meaning" },
    ],
    rows,
  );
}
