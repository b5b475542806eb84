import assert from "node:assert/strict";
import { test } from "node:test";
import { outerLabels } from "../shortshelf/outer-labels.js";

test("outerLabels", () => {
  const kept = outerLabels(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
