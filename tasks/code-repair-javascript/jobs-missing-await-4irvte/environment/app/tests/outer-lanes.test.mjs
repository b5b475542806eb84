import assert from "node:assert/strict";
import { test } from "node:test";
import { outerLanes } from "../workbench/outer-lanes.js";

test("outerLanes", () => {
  assert.equal(outerLanes("x".repeat(99)).length, 19);
});
