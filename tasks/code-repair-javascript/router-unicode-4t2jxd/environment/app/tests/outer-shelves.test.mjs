import assert from "node:assert/strict";
import { test } from "node:test";
import { outerShelves } from "../waymark/outer-shelves.js";

test("outerShelves", () => {
  assert.deepEqual([outerShelves(-1), outerShelves(1000)], [0, 16]);
});
