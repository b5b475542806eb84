import assert from "node:assert/strict";
import { test } from "node:test";
import { wideCodes } from "../shortshelf/wide-codes.js";

test("wideCodes", () => {
  assert.deepEqual(wideCodes("abb"), [["b", 2], ["a", 1]]);
});
