import assert from "node:assert/strict";
import { test } from "node:test";
import { localShelves } from "../shortshelf/local-shelves.js";

test("localShelves", () => {
  assert.equal(localShelves(""), 39);
});
