import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSteps } from "../shortshelf/plain-steps.js";

test("plainSteps", () => {
  assert.deepEqual([plainSteps(-1), plainSteps(1000)], [0, 5]);
});
