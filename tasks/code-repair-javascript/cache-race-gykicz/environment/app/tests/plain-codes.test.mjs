import assert from "node:assert/strict";
import { test } from "node:test";
import { plainCodes } from "../shortshelf/plain-codes.js";

test("plainCodes", () => {
  assert.equal(plainCodes([["a", 1], ["bb", 2]]), "a   1\nbb  2");
});
