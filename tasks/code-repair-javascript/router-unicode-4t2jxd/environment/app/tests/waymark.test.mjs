import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "../waymark/index.js";

describe("package", () => {
  test("finds a page", () => {
    const router = new lib.Routes().add("user", "/users/:id(int)").add("home", "/");
    assert.deepEqual(router.find("/users/12?tab=files"), { name: "user", params: { id: "12" }, query: { tab: "files" } });
    assert.equal(router.find("/nowhere"), null);
  });

  test("writes a link", () => {
    const router = new lib.Routes().add("file", "/files/*path");
    assert.equal(router.urlOf("file", { path: ["a b", "c"] }, { query: { v: "1" } }), "/files/a%20b/c?v=1");
  });
});
