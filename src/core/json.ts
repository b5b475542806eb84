/** JSON values, and one canonical text for each, so that equal values hash equally. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON with keys in code-unit order and no spaces; `undefined` members are left out. Numbers must be finite. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "number" && !Number.isFinite(member)) throw new TypeError("not a finite number");
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(
      Object.entries(member as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
    );
  });
}
