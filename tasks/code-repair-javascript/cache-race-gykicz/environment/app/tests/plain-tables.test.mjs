import assert from "node:assert/strict";
import { test } from "node:test";
import { plainTables } from "../shortshelf/plain-tables.js";

test("plainTables", () => {
  const kept = plainTables(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
