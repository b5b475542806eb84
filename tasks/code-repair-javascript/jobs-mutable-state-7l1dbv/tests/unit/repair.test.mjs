import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/errands/index.js");

describe("listeners-that-go", () => {
  test("all hear the first event", () => {
    const whole = wholes(random("mixed"));
    const kinds = ["once", "on", ...Array.from({ length: 6 }, () => (whole(0, 1) === 0 ? "once" : "on")), "on"];
    const got = ask(({ Notifier }, given) => {
      const bus = new Notifier();
      const heard = [];
      given.forEach((kind, at) => bus[kind]("word", (text) => heard.push(text + at)));
      return [bus.emit("word", "a"), bus.emit("word", "b"), heard];
    }, kinds);
    const lasting = kinds.flatMap((kind, at) => (kind === "on" ? [at] : []));
    assert.deepEqual(got, [
      kinds.length,
      lasting.length,
      [...kinds.map((_, at) => "a" + at), ...lasting.map((at) => "b" + at)],
    ]);
  });

  test("one that takes itself off harms no other", () => {
    const times = wholes(random("times"))(1, 4);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const heard = [];
      let left = given;
      const off = queue.bus.on("start", (name) => {
        left -= 1;
        if (left === 0) off();
        heard.push("brief " + name);
      });
      queue.bus.on("start", (name) => heard.push(name));
      for (let at = 1; at <= given + 1; at += 1) await queue.submit("job" + at, () => 1);
      return heard;
    }, times);
    const told = Array.from({ length: times }, (_, at) => ["brief job" + (at + 1), "job" + (at + 1)]).flat();
    assert.deepEqual(got, [...told, "job" + (times + 1)]);
  });
});

describe("slow-jobs", () => {
  test("a report of many jobs", () => {
    const whole = wholes(random("report"));
    const given = [100_000 + whole(0, 99), 8, 90, 700, ...Array.from({ length: 7 }, () => whole(1, 10 ** whole(1, 4)))];
    const got = ask(async ({ WorkQueue }, times) => {
      let time = 5;
      const queue = new WorkQueue({ now: () => time });
      for (const took of times) {
        await queue.submit("job", async () => {
          await null;
          time += took;
        });
      }
      return queue.report();
    }, given);
    const ordered = [...given].sort((one, other) => one - other);
    assert.deepEqual(got, { jobs: 11, median: ordered[5], slow: ordered[9], longest: ordered[10] });
  });

  test("quantiles of numbers of any length", () => {
    const whole = wholes(random("lengths"));
    const lists = Array.from({ length: 4 }, () => [1000, 200, 30, 4, whole(1, 9), whole(10, 99), whole(100, 999)]);
    const got = ask(({ quantile }, given) => {
      return given.map((list) => [0, 0.5, 0.9, 1].map((share) => quantile(list, share)));
    }, lists);
    const told = lists.map((list) => {
      const ordered = [...list].sort((one, other) => one - other);
      return [ordered[0], ordered[3], ordered[6], ordered[6]];
    });
    assert.deepEqual(got, told);
  });
});

describe("not-idle-yet", () => {
  test("idle is told once, after the last job", () => {
    const jobs = wholes(random("jobs"))(3, 9);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const told = [];
      for (const kind of ["start", "done", "failed", "idle"]) queue.bus.on(kind, () => told.push(kind));
      const work = async () => {
        await new Promise(setImmediate);
        if (told.length > 4) throw new Error("no");
      };
      await Promise.allSettled(Array.from({ length: given }, (_, at) => queue.submit("job" + at, work)));
      return told;
    }, jobs);
    const kinds = ["start", "done", "start"].concat(["done"]);
    const rest = Array.from({ length: jobs - 2 }, () => ["start", "failed"]).flat();
    assert.deepEqual(got, [...kinds, ...rest, "idle"]);
  });

  test("nothing runs or waits when idle is told", () => {
    const jobs = wholes(random("waits"))(3, 12);
    const got = ask(async ({ WorkQueue }, given) => {
      const queue = new WorkQueue();
      const seen = [];
      queue.bus.on("idle", () => seen.push([queue.active, queue.waiting.length, queue.report().jobs]));
      await Promise.all(Array.from({ length: given }, (_, at) => queue.submit("job" + at, () => at)));
      return seen;
    }, jobs);
    assert.deepEqual(got, [[0, 0, jobs]]);
  });
});
