/** JSON pointers (RFC 6901), as milestones and HTTP probes name a value in what a service says. Pure. */

/** What `pointer` names in a JSON value; undefined where there is nothing. `""` names the whole. */
export function pointed(value: unknown, pointer: string): unknown {
  let found = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    if (Array.isArray(found) && !/^(?:0|[1-9][0-9]*)$/.test(key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}
