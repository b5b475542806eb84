import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "../stillroom/index.js";

describe("package", () => {
  test("keeps and forgets", () => {
    const cache = new lib.Keeper({ now: () => 0 });
    cache.set("a", 1);
    assert.equal(cache.get("a"), 1);
    assert.equal(cache.delete("a"), true);
    assert.equal(cache.has("a"), false);
  });

  test("loads what is not kept", async () => {
    const cache = new lib.Keeper({ now: () => 0 });
    assert.equal(await cache.load("a", async (key) => key + "!"), "a!");
    assert.equal(cache.get("a"), "a!");
  });
});
