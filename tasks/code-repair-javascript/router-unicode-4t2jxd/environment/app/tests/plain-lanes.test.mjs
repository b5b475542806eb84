import assert from "node:assert/strict";
import { test } from "node:test";
import { plainLanes } from "../waymark/plain-lanes.js";

test("plainLanes", () => {
  assert.deepEqual(plainLanes("abb"), [["b", 2], ["a", 1]]);
});
