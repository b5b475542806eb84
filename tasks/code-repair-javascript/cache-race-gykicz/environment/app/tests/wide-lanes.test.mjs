import assert from "node:assert/strict";
import { test } from "node:test";
import { wideLanes } from "../shortshelf/wide-lanes.js";

test("wideLanes", () => {
  assert.deepEqual(wideLanes([1, 2, 3], 2), [[1, 2], [3]]);
});
