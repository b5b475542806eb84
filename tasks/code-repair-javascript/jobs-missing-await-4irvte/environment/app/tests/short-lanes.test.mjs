import assert from "node:assert/strict";
import { test } from "node:test";
import { shortLanes } from "../workbench/short-lanes.js";

test("shortLanes", () => {
  assert.equal(shortLanes(""), 37);
});
