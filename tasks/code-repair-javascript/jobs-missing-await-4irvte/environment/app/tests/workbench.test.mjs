import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "../workbench/index.js";

describe("package", () => {
  test("runs a job", async () => {
    const queue = new lib.WorkQueue();
    assert.equal(await queue.enqueue("one", () => 1), 1);
    await assert.rejects(queue.enqueue("two", async () => {
      throw new Error("no");
    }), { message: "no" });
  });

  test("tells one listener", () => {
    const bus = new lib.Bus();
    const heard = [];
    bus.on("word", (text) => heard.push(text));
    assert.equal(bus.emit("word", "a"), 1);
    assert.deepEqual(heard, ["a"]);
  });
});
