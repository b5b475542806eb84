import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/errands/index.js");

describe("listeners-that-go", () => {
  test("one that was taken off before its turn is not called", () => {
    const word = "word" + wholes(random("off"))(1, 99);
    const got = ask(({ Notifier }, given) => {
      const bus = new Notifier();
      const heard = [];
      let off = () => {};
      bus.on("a", () => off());
      off = bus.on("a", () => heard.push("taken off"));
      bus.on("a", (text) => heard.push(text));
      return [bus.emit("a", given), bus.emit("a", given), heard];
    }, word);
    assert.deepEqual(got, [2, 2, [word, word]]);
  });

  test("one that is added meanwhile waits for the next event", () => {
    const count = wholes(random("added"))(1, 4);
    const got = ask(({ Notifier }, given) => {
      const bus = new Notifier();
      const heard = [];
      bus.on("a", () => {
        if (heard.length < 20) bus.once("a", (text) => heard.push(text));
      });
      const counts = [];
      for (let at = 0; at <= given; at += 1) counts.push(bus.emit("a", at));
      return [counts, heard];
    }, count);
    const heard = Array.from({ length: count }, (_, at) => at + 1);
    assert.deepEqual(got, [[1, ...heard.map(() => 2)], heard]);
  });
});

describe("slow-jobs", () => {
  test("negative numbers and fractions", () => {
    const whole = wholes(random("fractions"));
    const list = [1.25, 1.5, -3, -20, 0.75, whole(2, 9) + 0.125, -whole(30, 99), whole(1, 9) * 1e21, 1e-7];
    const got = ask(({ quantile }, given) => {
      return given.map((_, at) => quantile(given, (at + 0.5) / given.length));
    }, list);
    assert.deepEqual(got, [...list].sort((one, other) => one - other));
  });

  test("the list stays as it was", () => {
    const whole = wholes(random("stays"));
    const list = [300, 20, 1, whole(1, 99)];
    const got = ask(({ quantile }, given) => {
      const before = [...given];
      const frozen = Object.freeze([...given]);
      return [quantile(given, 1), quantile(frozen, 0), quantile([], 0.5), given.every((one, at) => one === before[at])];
    }, list);
    assert.deepEqual(got, [300, 1, null, true]);
  });
});

describe("not-idle-yet", () => {
  test("idle waits for all that run side by side", () => {
    const whole = wholes(random("side"));
    const turns = Array.from({ length: 7 }, () => whole(1, 6));
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue({ limit: 3 });
      const told = [];
      queue.bus.on("done", () => told.push("done"));
      queue.bus.on("idle", () => told.push("idle"));
      const work = (count) => async () => {
        for (let at = 0; at < count; at += 1) await new Promise(setImmediate);
      };
      await Promise.all(given.map((count, at) => queue.submit("job" + at, work(count))));
      return told;
    }, [...turns, 1, 9, 1]);
    assert.deepEqual(got, [...turns.map(() => "done"), "done", "done", "done", "idle"]);
  });

  test("idle is told each time, and not while a listener adds jobs", () => {
    const rounds = wholes(random("rounds"))(2, 5);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const told = [];
      queue.bus.on("idle", () => told.push("idle"));
      for (let at = 0; at < given; at += 1) await queue.submit("job", () => told.push("job"));
      let follow;
      const followed = new Promise((resolve) => {
        queue.bus.once("done", () => {
          follow = queue.submit("follow", () => told.push("follow"));
          resolve();
        });
      });
      await queue.submit("last", () => told.push("last"));
      await followed;
      await follow;
      return told;
    }, rounds);
    assert.deepEqual(got, [...Array.from({ length: rounds }, () => ["job", "idle"]).flat(), "last", "follow", "idle"]);
  });
});
