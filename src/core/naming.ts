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
 * Line (from 1) on which the key of `path` is written in a TOML text, or null. Array indices in `path` are skipped.
 * Looks for the longest table header that is a prefix of the path, then for the key below it.
 */
export function tomlLine(text: string, path: readonly (string | number)[]): number | null {
  const keys = path.filter((part): part is string => typeof part === "string");
  const lines = text.split("\n");
  let table: readonly string[] = [];
  let best: { line: number; depth: number } | null = null;
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    const header = /^\[\[?\s*([^\]]+?)\s*\]\]?/.exec(line);
    const dotted = header?.[1] ?? /^([A-Za-z0-9_."'-]+(?:\s*\.\s*[A-Za-z0-9_"'-]+)*)\s*=/.exec(line)?.[1];
    if (dotted === undefined) continue;
    const parts = dotted.split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));
    if (header) table = parts;
    const full = header ? parts : [...table, ...parts];
    const isPrefix = full.length <= keys.length && full.every((part, depth) => part === keys[depth]);
    if (isPrefix && (best === null || full.length > best.depth)) best = { line: index + 1, depth: full.length };
  }
  return best?.line ?? null;
}
