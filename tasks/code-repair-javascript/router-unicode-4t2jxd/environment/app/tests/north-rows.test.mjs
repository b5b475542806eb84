import assert from "node:assert/strict";
import { test } from "node:test";
import { northRows } from "../waymark/north-rows.js";

test("northRows", () => {
  assert.equal(northRows([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
