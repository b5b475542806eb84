import assert from "node:assert/strict";
import { test } from "node:test";
import { northSteps } from "../workbench/north-steps.js";

test("northSteps", () => {
  const kept = northSteps(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
