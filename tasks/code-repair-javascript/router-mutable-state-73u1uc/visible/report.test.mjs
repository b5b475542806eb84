// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/byways/index.js";

describe("every-second-time", () => {
  test("the same answer every time", () => {
    const router = new lib.Router().add("user", "/users/:id(int)");
    const names = [1, 2, 3, 4].map(() => router.match("/users/7")?.name);
    assert.deepEqual(names, ["user", "user", "user", "user"]);
  });
});
