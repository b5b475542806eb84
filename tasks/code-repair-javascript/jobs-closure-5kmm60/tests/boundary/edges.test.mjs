import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/errands/index.js");

describe("number-of-an-item", () => {
  test("equal items have numbers of their own", () => {
    const count = wholes(random("equal"))(3, 8);
    const got = ask(({ eachLimited }, given) => {
      return eachLimited(Array.from({ length: given }, () => "same"), 1, (item, index) => item + index);
    }, count);
    assert.deepEqual(got, Array.from({ length: count }, (_, at) => "same" + at));
  });

  test("whatever can be iterated, within the limit", () => {
    const count = wholes(random("iterated"))(5, 9);
    const got = ask(async ({ eachLimited }, given) => {
      function* numbers() {
        for (let at = 0; at < given; at += 1) yield at * 10;
      }
      let running = 0;
      let most = 0;
      const work = async (item, index) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return item + index;
      };
      return [await eachLimited(numbers(), 2, work), await eachLimited(new Set(["x", "y", "z"]), 1, work), await eachLimited([], 1, work), most];
    }, count);
    assert.deepEqual(got, [Array.from({ length: count }, (_, at) => at * 11), ["x0", "y1", "z2"], [], 2]);
  });
});
