/** Renders rows as lines of columns that stand below each other. */
export function sparePages(rows, gap = 2) {
  if (rows.length === 0) return "";
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => String(row[at]).length)));
  const line = (row) => row.map((cell, at) => String(cell).padEnd(widths[at])).join(" ".repeat(gap));
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
