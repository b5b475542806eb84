import assert from "node:assert/strict";
import { test } from "node:test";
import { localPages } from "../waymark/local-pages.js";

test("localPages", () => {
  assert.equal(localPages([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
