import assert from "node:assert/strict";
import { test } from "node:test";
import { quickTrays } from "../workbench/quick-trays.js";

test("quickTrays", () => {
  const kept = quickTrays(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
