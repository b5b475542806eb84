/** Text tables: columns as wide as their widest cell, two spaces between, no borders. Cells are already printable. */

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** One line per row under a line of titles. Widths count characters, which is right for the text we print. */
export function tableText(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, index) =>
    Math.max(...[column.title, ...rows.map((row) => row[index] ?? "")].map((cell) => [...cell].length)),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => {
        const cell = cells[index] ?? "";
        const gap = " ".repeat(Math.max(0, (widths[index] ?? 0) - [...cell].length));
        return column.align === "right" ? gap + cell : cell + gap;
      })
      .join("  ")
      .trimEnd();
  return [line(columns.map((column) => column.title)), ...rows.map(line)].join("\n");
}

/** `label  value` pairs with the values in one column; a value of several lines is indented under its first. */
export function pairsText(pairs: readonly (readonly [string, string])[], indent = "  "): string {
  const width = Math.max(0, ...pairs.map(([label]) => [...label].length));
  return pairs
    .map(([label, value]) => {
      const head = `${indent}${label}${" ".repeat(width - [...label].length)}  `;
      return head + value.split("\n").join(`\n${" ".repeat(head.length)}`);
    })
    .join("\n");
}

/** The words of a text in lines of at most `width` characters; a longer word stands alone. */
export function wrappedWords(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Items joined by commas, broken between items into lines of at most `width` characters where that is possible. */
export function wrappedList(items: readonly string[], width: number): string {
  const lines: string[] = [];
  for (const [index, item] of items.entries()) {
    const text = index === items.length - 1 ? item : `${item},`;
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + text.length > width) lines.push(text);
    else lines[lines.length - 1] = `${last} ${text}`;
  }
  return lines.join("\n");
}
