import assert from "node:assert/strict";
import { test } from "node:test";
import { quickCodes } from "../waymark/quick-codes.js";

test("quickCodes", () => {
  assert.equal(quickCodes(""), 28);
});
