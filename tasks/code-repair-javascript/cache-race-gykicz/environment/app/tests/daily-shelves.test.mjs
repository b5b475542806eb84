import assert from "node:assert/strict";
import { test } from "node:test";
import { dailyShelves } from "../shortshelf/daily-shelves.js";

test("dailyShelves", () => {
  const kept = dailyShelves(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
