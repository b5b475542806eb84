import assert from "node:assert/strict";
import { test } from "node:test";
import { roundLabels } from "../waymark/round-labels.js";

test("roundLabels", () => {
  assert.equal(roundLabels("x".repeat(99)).length, 15);
});
