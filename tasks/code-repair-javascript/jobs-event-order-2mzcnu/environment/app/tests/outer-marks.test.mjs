import assert from "node:assert/strict";
import { test } from "node:test";
import { outerMarks } from "../foreman/outer-marks.js";

test("outerMarks", () => {
  const kept = outerMarks(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
