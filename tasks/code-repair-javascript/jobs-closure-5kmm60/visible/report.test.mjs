// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/errands/index.js";

describe("number-of-an-item", () => {
  test("every item has its number", async () => {
    assert.deepEqual(await lib.eachLimited([..."abc"], 1, (item, index) => item + index), ["a0", "b1", "c2"]);
  });
});
