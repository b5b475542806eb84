import assert from "node:assert/strict";
import { test } from "node:test";
import { northLabels } from "../shortshelf/north-labels.js";

test("northLabels", () => {
  assert.equal(northLabels([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
