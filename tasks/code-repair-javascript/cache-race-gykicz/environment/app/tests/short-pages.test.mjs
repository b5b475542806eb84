import assert from "node:assert/strict";
import { test } from "node:test";
import { shortPages } from "../shortshelf/short-pages.js";

test("shortPages", () => {
  assert.deepEqual(shortPages([1, 2, 3], 2), [[1, 2], [3]]);
});
