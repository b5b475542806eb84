/** What is wrong with the answer of a text on one data set, in one sentence; null when nothing is. Pure. */

import { clipped } from "./clipped.ts";
import type { SqlReply, SqlRows, SqlSnapshot } from "./sql-engine.ts";
import { cellOf, columnsDifference, rowsDifference } from "./sql-rows.ts";
import type { SqlTest } from "./sql-spec.ts";

const NAME_CHARACTERS_MAX = 120;

type Found = Exclude<SqlReply, { readonly refused: string }>;

/** Said where a plan reads nothing, for detectors to find: constants are no answer. */
export const READS_NO_TABLE = "its plan reads no base table";

/** Of a query: columns, plan, rows. `wanted` is the reference's reply, null where the rows are written down. */
export function queryDifference(
  test: SqlTest & { readonly kind: "query" },
  index: number,
  found: Found,
  wanted: SqlReply | null,
): string | null {
  if ("before" in found) return "it gives no rows";
  const reference = wanted !== null && "rows" in wanted ? wanted : null;
  const rows = test.datasets[index]?.rows?.map((row) => row.map(cellOf)) ?? reference?.rows ?? [];
  const columns =
    test.columns ?? reference?.columns.map(({ name, type }) => (type === "" ? { name } : { name, type })) ?? [];
  const rules = { isOrdered: test.ordered, tolerance: test.tolerance };
  return columnsDifference(found, columns) ?? planDifference(test.reads, found) ?? rowsDifference(found, rows, rules);
}

function planDifference(reads: readonly string[] | "any" | "none", { reads: read }: SqlRows): string | null {
  if (reads === "none") return null;
  if (read.length === 0) return READS_NO_TABLE;
  const unread = reads === "any" ? undefined : reads.find((name) => !read.includes(name));
  return unread === undefined ? null : `its plan does not read the base table ${unread}`;
}

/** Of a migration: the schema, the data and the checks as after the reference; taken back, all as it was before. */
export function migrationDifference(
  found: Found,
  wanted: SqlReply | null,
  test: SqlTest & { readonly kind: "migration" },
): string | null {
  if (!("before" in found) || wanted === null || !("before" in wanted)) return "it gives no state";
  const forward = snapshotDifference(found.after, wanted.after);
  if (forward !== null) return `after the migration ${forward}`;
  for (const [index, check] of wanted.checks.entries()) {
    const answer = found.checks[index];
    const rules = { isOrdered: false, tolerance: test.tolerance };
    const wrong = answer === undefined ? "it gives nothing" : rowsDifference(answer, check.rows, rules);
    if (wrong !== null) return `the check ${index + 1} finds that ${wrong}`;
  }
  if (test.back === undefined) return null;
  const back = found.back === undefined ? "nothing is left" : snapshotDifference(found.back, wanted.before);
  return back === null ? null : `after taking it back ${back}`;
}

function snapshotDifference(found: SqlSnapshot, wanted: SqlSnapshot): string | null {
  const names = [...new Set([...Object.keys(found.objects), ...Object.keys(wanted.objects)])].sort();
  for (const name of names) {
    const [has, wants] = [found.objects[name], wanted.objects[name]];
    const said = clipped(name, NAME_CHARACTERS_MAX);
    if (wants === undefined) return `there is the ${said}, which does not belong there`;
    if (has === undefined) return `the ${said} is missing`;
    if (has.join("\n") !== wants.join("\n")) return `the ${said} has other columns or another text`;
  }
  const changed = Object.keys(wanted.data).find((name) => found.data[name] !== wanted.data[name]);
  return changed === undefined ? null : `the rows of ${clipped(changed, NAME_CHARACTERS_MAX)} are not as expected`;
}
