import assert from "node:assert/strict";
import { test } from "node:test";
import { spareRows } from "../waymark/spare-rows.js";

test("spareRows", () => {
  const kept = spareRows(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
