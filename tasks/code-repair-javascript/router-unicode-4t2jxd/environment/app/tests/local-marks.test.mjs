import assert from "node:assert/strict";
import { test } from "node:test";
import { localMarks } from "../waymark/local-marks.js";

test("localMarks", () => {
  assert.deepEqual([localMarks(-1), localMarks(1000)], [0, 17]);
});
