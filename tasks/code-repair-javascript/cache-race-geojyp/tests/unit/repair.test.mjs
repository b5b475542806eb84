import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/stillroom/index.js");

describe("shared-load", () => {
  test("many calls at once make one load", () => {
    const calls = wholes(random("calls"))(3, 40);
    const got = ask(async ({ Keeper }, given) => {
      const cache = new Keeper({ now: () => 0 });
      let made = 0;
      const make = async () => {
        made += 1;
        await new Promise(setImmediate);
        return "value" + made;
      };
      const values = await Promise.all(Array.from({ length: given }, () => cache.load("a", make)));
      return [made, [...new Set(values)]];
    }, calls);
    assert.deepEqual(got, [1, ["value1"]]);
  });

  test("a call that comes later shares the load that runs", () => {
    const value = wholes(random("later"))(1, 999);
    const got = ask(async ({ Keeper }, given) => {
      const cache = new Keeper({ now: () => 0 });
      const made = [];
      let finish;
      const first = cache.load("a", () => {
        made.push("first");
        return new Promise((resolve) => {
          finish = resolve;
        });
      });
      await new Promise(setImmediate);
      const second = cache.load("a", () => made.push("second"), { ttl: 0 });
      await new Promise(setImmediate);
      finish(given);
      return [await first, await second, made, cache.get("a")];
    }, value);
    assert.deepEqual(got, [value, value, ["first"], value]);
  });
});
