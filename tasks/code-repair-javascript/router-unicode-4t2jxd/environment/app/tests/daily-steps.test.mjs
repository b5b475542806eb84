import assert from "node:assert/strict";
import { test } from "node:test";
import { dailySteps } from "../waymark/daily-steps.js";

test("dailySteps", () => {
  assert.deepEqual(dailySteps("abb"), [["b", 2], ["a", 1]]);
});
