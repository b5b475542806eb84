/** The sources and rules of the router as they are right: paths, patterns, queries and links. */

export const INDEX = `export { QparseQuery, QwriteQuery } from "./query.js";
export { QRouter } from "./router.js";
export { Qslug } from "./slug.js";
`;

export const PATH = `/** The segments of a path, decoded; null where one of them cannot be decoded. */
export function segmentsOf(path) {
  try {
    const segments = path.split("/").filter((segment) => segment !== "");
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return null;
  }
}
`;

export const PATTERN = `const KINDS = {
  int: /^-?[0-9]+$/,
  word: /^[\\p{L}\\p{N}_-]+$/u,
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
      const [, name, kind = "any"] = /^:(\\w+)(?:\\((\\w+)\\))?$/.exec(text) ?? [];
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
`;

export const QUERY = `/** The values of a query such as "a=1&b=2&b=3", by name. */
export function QparseQuery(text) {
  const values = new Map();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (values.has(name)) values.set(name, [values.get(name), value].flat());
    else values.set(name, value);
  }
  return Object.fromEntries(values);
}

/** The text of a query. */
export function QwriteQuery(values) {
  return Object.entries(values)
    .flatMap(([name, all]) => [all].flat().map((value) => encodeURIComponent(name) + "=" + encodeURIComponent(value)))
    .join("&");
}

function decoded(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
`;

export const SLUG = `/** A title as it stands in a link: letters, digits, and a dash for all else. */
export function Qslug(title, most = 40) {
  const words = title.toLowerCase().replace(/[^\\p{L}\\p{M}\\p{N}]+/gu, "-").replace(/^-/, "");
  const short = [...words].slice(0, most).join("");
  return short.replace(/-$/, "");
}
`;

export const ROUTER = `/** Routes by name. The rules are in README.md. */
import { segmentsOf } from "./path.js";
import { compareParts, paramsOf, partsOf } from "./pattern.js";
import { QparseQuery, QwriteQuery } from "./query.js";
import { Qslug } from "./slug.js";

export class QRouter {
  #routes = [];

  add(name, pattern) {
    if (this.#routes.some((route) => route.name === name)) throw new RangeError("there is a route " + name);
    this.#routes.push({ name, pattern, parts: partsOf(pattern) });
    this.#routes.sort((one, other) => compareParts(one.parts, other.parts));
    return this;
  }

  Qmatch(url) {
    const [path, query = ""] = url.split("#")[0].split(/\\?(.*)/s);
    const segments = segmentsOf(path);
    if (segments === null) return null;
    for (const { name, parts } of this.#routes) {
      const params = paramsOf(parts, segments);
      if (params !== null) return { name, params, query: QparseQuery(query) };
    }
    return null;
  }

  Qlink(name, params = {}, { query = {}, title = "" } = {}) {
    const route = this.#routes.find((one) => one.name === name);
    if (route === undefined) throw new RangeError("there is no route " + name);
    const texts = route.parts.flatMap((part) => part.text ?? params[part.name ?? part.rest]);
    const path = "/" + texts.map((text) => encodeURIComponent(text)).join("/");
    const written = QwriteQuery(query);
    const mark = Qslug(title);
    return path + (written === "" ? "" : "?" + written) + (mark === "" ? "" : "#" + encodeURIComponent(mark));
  }
}
`;

export const README = `# PKG

Routes of a web site: which page is meant by a URL, and the URL of a page. ES modules for Node 18 or newer, without
dependencies.

    import { QRouter, QparseQuery, QwriteQuery, Qslug } from "./PKG/index.js";

Whatever is asked twice is answered twice in the same way: nothing that was asked before changes an answer.

## QRouter

add(name, pattern) adds a route; the same name twice is a RangeError. A pattern has segments, parted by slashes:

- a text, which fits that text only;
- :name, which fits any segment, or :name(kind), which fits a segment of a kind: int (digits 0 to 9, with or without a
  minus sign before them) or word (letters and digits of all languages, _ and -);
- *name, the last of a pattern, which fits all segments that are left, at least one.

Qmatch(url) gives { name, params, query } of the route that fits, or null. url is a path, perhaps with ? and a query, and
with # and more, which does not count.

- The path is cut at its slashes first, and then each segment is decoded, once: %2F is a slash within a segment, %25 a
  percent sign, and a + stays a +. Segments of no length do not count, wherever they are. Where a segment cannot be
  decoded, nothing fits.
- params has the decoded segment of each :name, and of *name the list of decoded segments.
- Of several routes that fit, the one that says more wins: segment by segment from the left, a text is more than :name(kind),
  which is more than :name, which is more than *name. The first segment in which they differ decides. Of equal ones, that
  which was added first wins.

Qlink(name, params, { query, title }) is the URL of a route: its segments encoded, the query by QwriteQuery if there is
any, and # with Qslug(title), encoded, if there is any. params has a list for *name.

## Queries

- QparseQuery(text): an object with the value of each name, and a list of values, in order, of a name that stands there more
  than once. Every name counts, also such as constructor or __proto__. Pairs are parted by &, empty ones do not count;
  what stands behind the first = of a pair is its value, "" without one.
- In names and values every + is a space, and then %XX is decoded: %2B is a plus sign. A name or value that
  cannot be decoded stays whole as it was written.
- QwriteQuery(values): the opposite, with %20 for a space.

## Qslug(title, most)

The title in lower case, with one dash for all that stands between letters, marks and digits of any language, and none at the
start. Of that the first characters, at most as many as most says (40 where nothing is said), without a dash at the end. A
character is a code point: a letter beyond U+FFFF is one, and a combining mark is one of its own.
`;
