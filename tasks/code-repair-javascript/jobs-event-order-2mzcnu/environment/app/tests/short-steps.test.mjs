import assert from "node:assert/strict";
import { test } from "node:test";
import { shortSteps } from "../foreman/short-steps.js";

test("shortSteps", () => {
  assert.deepEqual(shortSteps("abb"), [["b", 2], ["a", 1]]);
});
