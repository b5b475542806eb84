import assert from "node:assert/strict";
import { test } from "node:test";
import { paperShelves } from "../shortshelf/paper-shelves.js";

test("paperShelves", () => {
  assert.equal(paperShelves("x".repeat(99)).length, 13);
});
