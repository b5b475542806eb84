import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "../byways/index.js";

describe("package", () => {
  test("finds a page", () => {
    const router = new lib.Router().add("user", "/users/:id(int)").add("home", "/");
    assert.deepEqual(router.match("/users/12?tab=files"), { name: "user", params: { id: "12" }, query: { tab: "files" } });
    assert.equal(router.match("/nowhere"), null);
  });

  test("writes a link", () => {
    const router = new lib.Router().add("file", "/files/*path");
    assert.equal(router.urlOf("file", { path: ["a b", "c"] }, { query: { v: "1" } }), "/files/a%20b/c?v=1");
  });
});
