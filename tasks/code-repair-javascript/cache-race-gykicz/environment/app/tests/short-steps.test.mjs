import assert from "node:assert/strict";
import { test } from "node:test";
import { shortSteps } from "../shortshelf/short-steps.js";

test("shortSteps", () => {
  assert.equal(shortSteps(""), 36);
});
