import assert from "node:assert/strict";
import { test } from "node:test";
import { plainPages } from "../shortshelf/plain-pages.js";

test("plainPages", () => {
  assert.deepEqual(plainPages([1, 2, 3], 2), [[1, 2], [3]]);
});
