import assert from "node:assert/strict";
import { test } from "node:test";
import { spareLabels } from "../waymark/spare-labels.js";

test("spareLabels", () => {
  assert.equal(spareLabels(""), 10);
});
