import assert from "node:assert/strict";
import { test } from "node:test";
import { roundSteps } from "../waymark/round-steps.js";

test("roundSteps", () => {
  assert.equal(roundSteps([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
