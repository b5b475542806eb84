import assert from "node:assert/strict";
import { test } from "node:test";
import { earlyRows } from "../shortshelf/early-rows.js";

test("earlyRows", () => {
  assert.equal(earlyRows(""), 29);
});
