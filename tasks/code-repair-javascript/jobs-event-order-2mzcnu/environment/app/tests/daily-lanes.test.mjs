import assert from "node:assert/strict";
import { test } from "node:test";
import { dailyLanes } from "../foreman/daily-lanes.js";

test("dailyLanes", () => {
  assert.deepEqual([dailyLanes(-1), dailyLanes(1000)], [0, 3]);
});
