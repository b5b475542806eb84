// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/waymark/index.js";

describe("half-a-letter", () => {
  test("a title of rare letters has a link", () => {
    const router = new lib.Routes().add("home", "/");
    const title = "a" + "𐌰".repeat(60);
    assert.equal(router.urlOf("home", {}, { title }), "/#" + encodeURIComponent("a" + "𐌰".repeat(39)));
  });
});

describe("every-second-time", () => {
  test("the same answer every time", () => {
    const router = new lib.Routes().add("user", "/users/:id(int)");
    const names = [1, 2, 3, 4].map(() => router.find("/users/7")?.name);
    assert.deepEqual(names, ["user", "user", "user", "user"]);
  });
});

describe("plus-signs", () => {
  test("a coded plus is a plus", () => {
    const router = new lib.Routes().add("search", "/search");
    assert.deepEqual(router.find("/search?q=C%2B%2B")?.query, { q: "C++" });
  });
});
