import assert from "node:assert/strict";
import { test } from "node:test";
import { sparePages } from "../shortshelf/spare-pages.js";

test("sparePages", () => {
  assert.equal(sparePages([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
