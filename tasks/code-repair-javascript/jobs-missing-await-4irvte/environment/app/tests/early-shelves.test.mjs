import assert from "node:assert/strict";
import { test } from "node:test";
import { earlyShelves } from "../workbench/early-shelves.js";

test("earlyShelves", () => {
  assert.equal(earlyShelves("x".repeat(99)).length, 23);
});
