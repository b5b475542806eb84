import assert from "node:assert/strict";
import { test } from "node:test";
import { wideSteps } from "../shortshelf/wide-steps.js";

test("wideSteps", () => {
  assert.equal(wideSteps([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
