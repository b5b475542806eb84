// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/stillroom/index.js";

describe("shared-load", () => {
  test("calls at the same time share a load", async () => {
    const cache = new lib.Keeper({ now: () => 0 });
    let made = 0;
    const make = async () => (made += 1);
    assert.deepEqual(await Promise.all([cache.load("top", make), cache.load("top", make)]), [1, 1]);
    assert.equal(made, 1);
  });
});
