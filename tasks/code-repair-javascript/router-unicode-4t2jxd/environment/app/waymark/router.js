/** Routes by name. The rules are in README.md. */
import { segmentsOf } from "./path.js";
import { compareParts, paramsOf, partsOf } from "./pattern.js";
import { queryOf, formatQuery } from "./query.js";
import { slug } from "./slug.js";

export class Routes {
  #routes = [];

  add(name, pattern) {
    if (this.#routes.some((route) => route.name === name)) throw new RangeError("there is a route " + name);
    this.#routes.push({ name, pattern, parts: partsOf(pattern) });
    this.#routes.sort((one, other) => compareParts(one.parts, other.parts));
    return this;
  }

  find(url) {
    const [path, query = ""] = url.split("#")[0].split(/\?(.*)/s);
    const segments = segmentsOf(path);
    if (segments === null) return null;
    for (const { name, parts } of this.#routes) {
      const params = paramsOf(parts, segments);
      if (params !== null) return { name, params, query: queryOf(query) };
    }
    return null;
  }

  urlOf(name, params = {}, { query = {}, title = "" } = {}) {
    const route = this.#routes.find((one) => one.name === name);
    if (route === undefined) throw new RangeError("there is no route " + name);
    const texts = route.parts.flatMap((part) => part.text ?? params[part.name ?? part.rest]);
    const path = "/" + texts.map((text) => encodeURIComponent(text)).join("/");
    const written = formatQuery(query);
    const mark = slug(title);
    return path + (written === "" ? "" : "?" + written) + (mark === "" ? "" : "#" + encodeURIComponent(mark));
  }
}
