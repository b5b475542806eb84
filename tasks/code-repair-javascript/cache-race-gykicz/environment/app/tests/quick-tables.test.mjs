import assert from "node:assert/strict";
import { test } from "node:test";
import { quickTables } from "../shortshelf/quick-tables.js";

test("quickTables", () => {
  assert.equal(quickTables([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
