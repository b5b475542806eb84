import assert from "node:assert/strict";
import { test } from "node:test";
import { dailyShelves } from "../waymark/daily-shelves.js";

test("dailyShelves", () => {
  assert.deepEqual(dailyShelves([1, 2, 3], 2), [[1, 2], [3]]);
});
