import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/errands/index.js");

describe("number-of-an-item", () => {
  test("numbers count from 0 whatever the limit", () => {
    const whole = wholes(random("numbers"));
    const items = Array.from({ length: whole(6, 12) }, (_, at) => "item" + at + whole(1, 9));
    const got = ask(async ({ eachLimited }, given) => {
      const work = async (item, index) => {
        await new Promise(setImmediate);
        return [item, index];
      };
      return [await eachLimited(given, 1, work), await eachLimited(given, 2, work), await eachLimited(given, 3, work)];
    }, items);
    const numbered = items.map((item, at) => [item, at]);
    assert.deepEqual(got, [numbered, numbered, numbered]);
  });

  test("numbers fit when items end in another order", () => {
    const count = wholes(random("order"))(4, 8);
    const got = ask(async ({ eachLimited }, given) => {
      const items = Array.from({ length: given }, (_, at) => given - at);
      return eachLimited(items, 2, async (turns, index) => {
        for (let at = 0; at < turns; at += 1) await new Promise(setImmediate);
        return turns + index;
      });
    }, count);
    assert.deepEqual(got, Array.from({ length: count }, () => count));
  });
});
