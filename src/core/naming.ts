/** Helps a person who mistyped: the nearest known name, and the line a key stands on in a TOML text. */

/** Levenshtein distance by rows, in edits. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The candidate fewest edits away, or null when none is near (more than half of the name would change). */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.ceil(name.length / 2)) + 1;
  for (const candidate of candidates) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < bestDistance) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

/**
 * Line (from 1) on which the key of `path` is written in a TOML text, or null. A number in `path` picks that element of
 * an array of tables (`[[tiers]]`, from 0). Looks for the longest written key that is a prefix of the path.
 */
export function tomlLine(text: string, path: readonly (string | number)[]): number | null {
  const keys = path.filter((part): part is string => typeof part === "string");
  let table: readonly string[] = [];
  const elements = new Map<string, number>();
  let best: { line: number; depth: number } | null = null;
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    const header = /^(\[\[?)\s*([^\]]+?)\s*\]\]?/.exec(line);
    const dotted = header?.[2] ?? /^([A-Za-z0-9_."'-]+(?:\s*\.\s*[A-Za-z0-9_"'-]+)*)\s*=/.exec(line)?.[1];
    if (dotted === undefined) continue;
    const parts = dotted.split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));
    if (header) table = parts;
    if (header?.[1] === "[[") elements.set(parts.join("."), (elements.get(parts.join(".")) ?? -1) + 1);
    const full = header ? parts : [...table, ...parts];
    const isPrefix = full.length <= keys.length && full.every((part, depth) => part === keys[depth]);
    if (!isPrefix || !isInElement(path, full.length, elements)) continue;
    if (best === null || full.length > best.depth) best = { line: index + 1, depth: full.length };
  }
  return best?.line ?? null;
}

/** Whether the first `depth` keys of `path` stand in the elements of the arrays of tables that are open now. */
function isInElement(
  path: readonly (string | number)[],
  depth: number,
  elements: ReadonlyMap<string, number>,
): boolean {
  const keys: string[] = [];
  for (const part of path) {
    if (typeof part === "string") {
      if (keys.length === depth) return true;
      keys.push(part);
      continue;
    }
    const element = elements.get(keys.join("."));
    if (element !== undefined && element !== part) return false;
  }
  return true;
}
