import assert from "node:assert/strict";
import { test } from "node:test";
import { outerCodes } from "../workbench/outer-codes.js";

test("outerCodes", () => {
  assert.equal(outerCodes(""), 10);
});
