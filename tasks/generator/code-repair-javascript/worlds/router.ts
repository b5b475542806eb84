/** A router of URLs: patterns with kinds, decoded paths and queries, links with a short title. */
import type { World } from "../../support/repair/world.ts";
import { ROUTER_PATH_FAULTS } from "./router-path-faults.ts";
import { INDEX, PATH, PATTERN, QUERY, README, ROUTER, SLUG } from "./router-source.ts";
import { ROUTER_TEXT_FAULTS } from "./router-text-faults.ts";

export const ROUTER_WORLD: World = {
  name: "router",
  title: "router of URLs",
  names: {
    PKG: ["signpost", "waymark", "crossroads", "byways", "turnpike", "junction"],
    QRouter: ["Router", "Routes", "SiteMap", "Pages"],
    Qmatch: ["match", "find", "lookUp", "resolve"],
    Qlink: ["link", "urlOf", "hrefOf", "pathTo"],
    QparseQuery: ["parseQuery", "readQuery", "queryOf"],
    QwriteQuery: ["writeQuery", "formatQuery", "queryText"],
    Qslug: ["slug", "anchorOf", "linkText"],
  },
  files: {
    "index.js": INDEX,
    "path.js": PATH,
    "pattern.js": PATTERN,
    "query.js": QUERY,
    "router.js": ROUTER,
    "slug.js": SLUG,
  },
  readme: README,
  own: `test("finds a page", () => {
  const router = new lib.QRouter().add("user", "/users/:id(int)").add("home", "/");
  assert.deepEqual(router.Qmatch("/users/12?tab=files"), { name: "user", params: { id: "12" }, query: { tab: "files" } });
  assert.equal(router.Qmatch("/nowhere"), null);
});

test("writes a link", () => {
  const router = new lib.QRouter().add("file", "/files/*path");
  assert.equal(router.Qlink("file", { path: ["a b", "c"] }, { query: { v: "1" } }), "/files/a%20b/c?v=1");
});
`,
  integration: `test("finds the page of a path", () => {
  const id = String(wholes(random("page"))(1, 9999));
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("home", "/").add("page", "/pages/:id(int)/view").add("tree", "/tree/*path");
    return ["/", "/pages/" + given + "/view/", "/pages/view", "//tree/a%20b//c", "/tree"].map((url) => router.Qmatch(url));
  }, id);
  assert.deepEqual(got, [
    { name: "home", params: {}, query: {} },
    { name: "page", params: { id }, query: {} },
    null,
    { name: "tree", params: { path: ["a b", "c"] }, query: {} },
    null,
  ]);
});

test("reads and writes a query", () => {
  const whole = wholes(random("query"));
  const values = Object.fromEntries(Array.from({ length: 5 }, (_, at) => ["name " + at, "v&=" + whole(1, 99)]));
  const got = ask(({ QparseQuery, QwriteQuery }, given) => {
    return [QparseQuery(QwriteQuery(given)), QparseQuery("a=1&&b=x=y&c&a=2&a=3"), QparseQuery(""), QwriteQuery({ a: ["1", "2"] })];
  }, values);
  assert.deepEqual(got, [values, { a: ["1", "2", "3"], b: "x=y", c: "" }, {}, "a=1&a=2"]);
});

test("shortens a plain title", () => {
  const most = wholes(random("title"))(5, 12);
  const got = ask(({ Qslug }, given) => [Qslug("  Hello, World of  URLs!"), Qslug("abcdefghijklmnop", given), Qslug("?!")], most);
  assert.deepEqual(got, ["hello-world-of-urls", "abcdefghijklmnop".slice(0, most), ""]);
});

test("links lead back to their page", () => {
  const whole = wholes(random("links"));
  const params = { user: "user " + whole(1, 99), path: ["x", "y" + whole(1, 99)] };
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("file", "/of/:user/files/*path");
    const url = router.Qlink("file", given, { query: { "a b": "c" }, title: "Top Ten" });
    return [url, router.Qmatch(url)];
  }, params);
  assert.deepEqual(got, [
    "/of/" + encodeURIComponent(params.user) + "/files/x/" + params.path[1] + "?a%20b=c#top-ten",
    { name: "file", params, query: { "a b": "c" } },
  ]);
});
`,
  neighbour: {
    file: "pattern.js",
    right: "    if (segment === undefined) return null;\n",
    broken: "    if (segment === undefined && part.rest === undefined) return null;\n",
  },
  faults: [...ROUTER_PATH_FAULTS, ...ROUTER_TEXT_FAULTS],
};
