import assert from "node:assert/strict";
import { test } from "node:test";
import { northNotes } from "../waymark/north-notes.js";

test("northNotes", () => {
  assert.deepEqual(northNotes([1, 2, 3], 2), [[1, 2], [3]]);
});
