import assert from "node:assert/strict";
import { test } from "node:test";
import { plainLanes } from "../shortshelf/plain-lanes.js";

test("plainLanes", () => {
  assert.deepEqual(plainLanes("abb"), [["b", 2], ["a", 1]]);
});
