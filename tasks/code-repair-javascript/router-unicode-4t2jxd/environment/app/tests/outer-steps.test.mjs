import assert from "node:assert/strict";
import { test } from "node:test";
import { outerSteps } from "../waymark/outer-steps.js";

test("outerSteps", () => {
  assert.equal(outerSteps([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
