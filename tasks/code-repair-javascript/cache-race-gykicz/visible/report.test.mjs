// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/shortshelf/index.js";

describe("outdated-load", () => {
  test("a change during a load lasts", async () => {
    const cache = new lib.Store({ now: () => 0 });
    const loading = cache.ensure("price", async () => "old");
    cache.set("price", "new");
    await loading;
    assert.equal(cache.get("price"), "new");
  });
});
