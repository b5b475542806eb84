import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/waymark/index.js");

describe("unharmed", () => {
  test("finds the page of a path", () => {
    const id = String(wholes(random("page"))(1, 9999));
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("home", "/").add("page", "/pages/:id(int)/view").add("tree", "/tree/*path");
      return ["/", "/pages/" + given + "/view/", "/pages/view", "//tree/a%20b//c", "/tree"].map((url) => router.find(url));
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
    const got = ask(({ queryOf, formatQuery }, given) => {
      return [queryOf(formatQuery(given)), queryOf("a=1&&b=x=y&c&a=2&a=3"), queryOf(""), formatQuery({ a: ["1", "2"] })];
    }, values);
    assert.deepEqual(got, [values, { a: ["1", "2", "3"], b: "x=y", c: "" }, {}, "a=1&a=2"]);
  });

  test("shortens a plain title", () => {
    const most = wholes(random("title"))(5, 12);
    const got = ask(({ slug }, given) => [slug("  Hello, World of  URLs!"), slug("abcdefghijklmnop", given), slug("?!")], most);
    assert.deepEqual(got, ["hello-world-of-urls", "abcdefghijklmnop".slice(0, most), ""]);
  });

  test("links lead back to their page", () => {
    const whole = wholes(random("links"));
    const params = { user: "user " + whole(1, 99), path: ["x", "y" + whole(1, 99)] };
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("file", "/of/:user/files/*path");
      const url = router.urlOf("file", given, { query: { "a b": "c" }, title: "Top Ten" });
      return [url, router.find(url)];
    }, params);
    assert.deepEqual(got, [
      "/of/" + encodeURIComponent(params.user) + "/files/x/" + params.path[1] + "?a%20b=c#top-ten",
      { name: "file", params, query: { "a b": "c" } },
    ]);
  });
});
