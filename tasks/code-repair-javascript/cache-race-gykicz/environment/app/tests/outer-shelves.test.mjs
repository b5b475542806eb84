import assert from "node:assert/strict";
import { test } from "node:test";
import { outerShelves } from "../shortshelf/outer-shelves.js";

test("outerShelves", () => {
  assert.equal(outerShelves(""), 10);
});
