import assert from "node:assert/strict";
import { test } from "node:test";
import { outerMarks } from "../waymark/outer-marks.js";

test("outerMarks", () => {
  assert.equal(outerMarks(""), 29);
});
