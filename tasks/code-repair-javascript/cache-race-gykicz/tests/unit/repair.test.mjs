import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/shortshelf/index.js");

describe("outdated-load", () => {
  test("what was set during a load stays", () => {
    const value = wholes(random("set"))(1, 99);
    const got = ask(async ({ Store }, given) => {
      let time = 0;
      const cache = new Store({ now: () => time, ttl: 10 });
      let finish;
      const loading = cache.ensure("a", () => new Promise((resolve) => {
        finish = resolve;
      }), { ttl: 100 });
      await new Promise(setImmediate);
      cache.set("a", given);
      finish("outdated");
      const loaded = await loading;
      await new Promise(setImmediate);
      const kept = cache.get("a");
      time = 50;
      return [loaded, kept, cache.has("a")];
    }, value);
    assert.deepEqual(got, ["outdated", value, false]);
  });

  test("what was deleted during a load stays away", () => {
    const key = "key" + wholes(random("delete"))(1, 99);
    const got = ask(async ({ Store }, given) => {
      const cache = new Store({ now: () => 0 });
      let finish;
      const loading = cache.ensure(given, () => new Promise((resolve) => {
        finish = resolve;
      }));
      const other = cache.ensure("other", () => "kept");
      await new Promise(setImmediate);
      cache.delete(given);
      finish("outdated");
      return [await loading, await other, cache.keys()];
    }, key);
    assert.deepEqual(got, ["outdated", "kept", ["other"]]);
  });
});
