import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/workbench/index.js");

describe("ends-too-early", () => {
  test("the limit is kept until jobs have ended", () => {
    const whole = wholes(random("limit"));
    const given = { limit: whole(2, 4), jobs: whole(6, 15) };
    const got = ask(async ({ WorkQueue }, { limit, jobs }) => {
      const queue = new WorkQueue({ limit });
      const finish = [];
      const all = Array.from({ length: jobs }, (_, at) => queue.enqueue("job" + at, () => new Promise((resolve) => {
        finish.push(() => resolve(at));
      })));
      const seen = [];
      for (let at = 0; at < jobs; at += 1) {
        await new Promise(setImmediate);
        seen.push([finish.length, queue.active]);
        finish[at]();
      }
      return [seen, await Promise.all(all)];
    }, given);
    const seen = Array.from({ length: given.jobs }, (_, at) => [
      Math.min(given.jobs, at + given.limit),
      Math.min(given.limit, given.jobs - at),
    ]);
    assert.deepEqual(got, [seen, seen.map((_, at) => at)]);
  });

  test("events tell the value and the end", () => {
    const value = wholes(random("value"))(1, 99);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const told = [];
      for (const kind of ["start", "done", "idle"]) queue.bus.on(kind, (...words) => told.push([kind, ...words]));
      let finish;
      const job = queue.enqueue("a", () => new Promise((resolve) => {
        finish = resolve;
      }));
      await new Promise(setImmediate);
      const before = told.length;
      finish(given);
      await job;
      return [before, told];
    }, value);
    assert.deepEqual(got, [1, [["start", "a"], ["done", "a", value], ["idle"]]]);
  });
});
