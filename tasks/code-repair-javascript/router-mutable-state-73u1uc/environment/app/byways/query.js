/** The values of a query such as "a=1&b=2&b=3", by name. */
export function parseQuery(text) {
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
export function writeQuery(values) {
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
