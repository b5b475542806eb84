import assert from "node:assert/strict";
import { test } from "node:test";
import { roundPages } from "../shortshelf/round-pages.js";

test("roundPages", () => {
  assert.equal(roundPages("x".repeat(99)).length, 20);
});
