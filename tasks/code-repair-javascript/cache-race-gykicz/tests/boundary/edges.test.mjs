import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/shortshelf/index.js");

describe("outdated-load", () => {
  test("of two loads the newer one is kept", () => {
    const value = wholes(random("two"))(1, 99);
    const got = ask(async ({ Store }, given) => {
      const cache = new Store({ now: () => 0 });
      const finish = [];
      const make = () => new Promise((resolve) => {
        finish.push(resolve);
      });
      const first = cache.ensure("a", make);
      await new Promise(setImmediate);
      cache.delete("a");
      const second = cache.ensure("a", make);
      await new Promise(setImmediate);
      finish[0]("outdated");
      const said = [await first];
      await new Promise(setImmediate);
      said.push(cache.get("a") ?? null);
      finish[1](given);
      return [...said, await second, cache.get("a")];
    }, value);
    assert.deepEqual(got, ["outdated", null, value, value]);
  });

  test("those who wait get what was loaded", () => {
    const value = wholes(random("wait"))(1, 99);
    const got = ask(async ({ Store }, given) => {
      const cache = new Store({ now: () => 0 });
      const make = async () => {
        await new Promise(setImmediate);
        return given;
      };
      const waiting = [cache.ensure("a", make), cache.ensure("a", make)];
      cache.set("a", "changed");
      return [await Promise.all(waiting), await cache.ensure("a", make)];
    }, value);
    assert.deepEqual(got, [[value, value], "changed"]);
  });
});
