import assert from "node:assert/strict";
import { test } from "node:test";
import { wideNotes } from "../shortshelf/wide-notes.js";

test("wideNotes", () => {
  const kept = wideNotes(2);
  for (const value of [1, 2, 3]) kept.add(value);
  assert.deepEqual(kept.latest(), [3, 2]);
});
