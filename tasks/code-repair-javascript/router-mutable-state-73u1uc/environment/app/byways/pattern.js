const KINDS = {
  int: /^-?[0-9]+$/g,
  word: /^[\p{L}\p{N}_-]+$/gu,
  any: /^/,
};

/** The parts of a pattern such as "/users/:id(int)/files/*path". */
export function partsOf(pattern) {
  return pattern
    .split("/")
    .filter((text) => text !== "")
    .map((text) => {
      if (text.startsWith("*")) return { rank: 3, rest: text.slice(1) };
      if (!text.startsWith(":")) return { rank: 0, text };
      const [, name, kind = "any"] = /^:(\w+)(?:\((\w+)\))?$/.exec(text) ?? [];
      if (name === undefined || !Object.hasOwn(KINDS, kind)) throw new SyntaxError("not a pattern: " + pattern);
      return { rank: kind === "any" ? 2 : 1, name, kind };
    });
}

/** What the segments give for the parts, or null where they do not fit. */
export function paramsOf(parts, segments) {
  const params = new Map();
  for (const [at, part] of parts.entries()) {
    const segment = segments[at];
    if (segment === undefined) return null;
    if (part.rest !== undefined) {
      params.set(part.rest, segments.slice(at));
      return Object.fromEntries(params);
    }
    if (part.text !== undefined ? part.text !== segment : !KINDS[part.kind].test(segment)) return null;
    if (part.name !== undefined) params.set(part.name, segment);
  }
  return parts.length === segments.length ? Object.fromEntries(params) : null;
}

/** Below 0 where the first is to be tried before the other. */
export function compareParts(one, other) {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    if (one[at].rank !== other[at].rank) return one[at].rank - other[at].rank;
  }
  return 0;
}
