import assert from "node:assert/strict";
import { test } from "node:test";
import { earlyParts } from "../shortshelf/early-parts.js";

test("earlyParts", () => {
  assert.deepEqual(earlyParts([1, 2, 3], 2), [[1, 2], [3]]);
});
