import assert from "node:assert/strict";
import { test } from "node:test";
import { earlyCodes } from "../workbench/early-codes.js";

test("earlyCodes", () => {
  assert.deepEqual(earlyCodes([1, 2, 3], 2), [[1, 2], [3]]);
});
