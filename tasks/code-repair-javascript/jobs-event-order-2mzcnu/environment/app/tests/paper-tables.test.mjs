import assert from "node:assert/strict";
import { test } from "node:test";
import { paperTables } from "../foreman/paper-tables.js";

test("paperTables", () => {
  const kept = paperTables(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
