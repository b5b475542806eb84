import assert from "node:assert/strict";
import { test } from "node:test";
import { outerParts } from "../waymark/outer-parts.js";

test("outerParts", () => {
  assert.deepEqual(outerParts([1, 2, 3], 2), [[1, 2], [3]]);
});
