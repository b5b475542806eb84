import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/stillroom/index.js");

describe("shared-load", () => {
  test("other keys load for themselves", () => {
    const whole = wholes(random("keys"));
    const keys = [1, "1", "key" + whole(1, 99), "other" + whole(1, 99)];
    const got = ask(async ({ Keeper }, given) => {
      const cache = new Keeper({ now: () => 0 });
      const make = async (key) => {
        await new Promise(setImmediate);
        return typeof key + key;
      };
      return Promise.all([...given, ...given].map((key) => cache.load(key, make)));
    }, keys);
    const values = keys.map((key) => typeof key + key);
    assert.deepEqual(got, [...values, ...values]);
  });

  test("all that share a failed load get its error", () => {
    const word = "broken" + wholes(random("error"))(1, 999);
    const got = ask(async ({ Keeper }, given) => {
      const cache = new Keeper({ now: () => 0 });
      let made = 0;
      const thrown = new Error(given);
      const make = async () => {
        made += 1;
        await new Promise(setImmediate);
        throw thrown;
      };
      const ended = await Promise.allSettled([1, 2, 3].map(() => cache.load("a", make)));
      return [made, ended.map(({ status, reason }) => status === "rejected" && reason === thrown)];
    }, word);
    assert.deepEqual(got, [1, [true, true, true]]);
  });
});
