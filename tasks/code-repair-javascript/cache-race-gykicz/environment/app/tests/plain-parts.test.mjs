import assert from "node:assert/strict";
import { test } from "node:test";
import { plainParts } from "../shortshelf/plain-parts.js";

test("plainParts", () => {
  const kept = plainParts(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
