import assert from "node:assert/strict";
import { test } from "node:test";
import { shortTrays } from "../shortshelf/short-trays.js";

test("shortTrays", () => {
  assert.equal(shortTrays(""), 24);
});
