import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/workbench/index.js");

describe("ends-too-early", () => {
  test("a job that fails later is told as failed", () => {
    const word = "broken" + wholes(random("failed"))(1, 99);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const told = [];
      queue.bus.on("done", (name) => told.push("done " + name));
      queue.bus.on("failed", (name, error) => told.push("failed " + name + " " + error.message));
      const late = async () => {
        await new Promise(setImmediate);
        throw new Error(given);
      };
      const atOnce = () => {
        throw new Error("at once");
      };
      const ended = await Promise.allSettled([queue.enqueue("late", late), queue.enqueue("once", atOnce), queue.enqueue("well", () => 1)]);
      return [told, ended.map(({ reason, value }) => reason?.message ?? value)];
    }, word);
    assert.deepEqual(got, [["failed late " + word, "failed once at once", "done well"], [word, "at once", 1]]);
  });

  test("whatever has a method then is waited for", () => {
    const value = wholes(random("then"))(1, 99);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const order = [];
      const lazy = { then: (resolve) => setImmediate(() => resolve(order.push("ended"))) };
      const first = queue.enqueue("lazy", () => lazy);
      const second = queue.enqueue("next", () => {
        order.push("next");
        return given;
      });
      return [await first, await second, order];
    }, value);
    assert.deepEqual(got, [1, value, ["ended", "next"]]);
  });
});
