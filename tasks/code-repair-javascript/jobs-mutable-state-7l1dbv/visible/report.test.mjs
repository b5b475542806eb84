// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/errands/index.js";

describe("listeners-that-go", () => {
  test("the listener after once hears the first event", async () => {
    const queue = new lib.WorkQueue();
    const heard = [];
    queue.bus.once("done", (name) => heard.push("once " + name));
    queue.bus.on("done", (name) => heard.push("on " + name));
    await queue.submit("first", () => 1);
    assert.deepEqual(heard, ["once first", "on first"]);
  });
});

describe("slow-jobs", () => {
  test("the report tells the median and the longest", async () => {
    let time = 0;
    const queue = new lib.WorkQueue({ now: () => time });
    for (const took of [9, 10, 100]) {
      await queue.submit("job", async () => {
        time += took;
      });
    }
    assert.deepEqual(queue.report(), { jobs: 3, median: 10, slow: 100, longest: 100 });
  });
});

describe("not-idle-yet", () => {
  test("idle comes after all jobs", async () => {
    const queue = new lib.WorkQueue();
    const told = [];
    queue.bus.on("done", (name) => told.push(name));
    queue.bus.on("idle", () => told.push("idle"));
    await Promise.all(["a", "b", "c"].map((name) => queue.submit(name, async () => name)));
    assert.deepEqual(told, ["a", "b", "c", "idle"]);
  });
});
