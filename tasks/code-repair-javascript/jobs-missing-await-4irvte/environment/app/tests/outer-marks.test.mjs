import assert from "node:assert/strict";
import { test } from "node:test";
import { outerMarks } from "../workbench/outer-marks.js";

test("outerMarks", () => {
  assert.equal(outerMarks("x".repeat(99)).length, 6);
});
