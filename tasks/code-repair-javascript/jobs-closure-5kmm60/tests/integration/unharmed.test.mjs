import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/errands/index.js");

describe("unharmed", () => {
  test("results are those of the jobs", () => {
    const whole = wholes(random("results"));
    const numbers = Array.from({ length: 12 }, () => whole(1, 99));
    const got = ask(async ({ Scheduler }, given) => {
      const queue = new Scheduler({ limit: 3 });
      const jobs = given.map((number) => queue.submit("job" + number, async () => {
        if (number % 3 === 0) throw new RangeError("no " + number);
        return number * 2;
      }));
      const ended = await Promise.allSettled(jobs);
      return [ended.map(({ value, reason }) => value ?? reason.message), queue.active, queue.waiting];
    }, numbers);
    assert.deepEqual(got, [numbers.map((number) => (number % 3 === 0 ? "no " + number : number * 2)), 0, []]);
  });

  test("starts by priority and then by age", () => {
    const whole = wholes(random("priorities"));
    const jobs = Array.from({ length: 9 }, (_, at) => ["job" + at, whole(-2, 2)]);
    const got = ask(async ({ Scheduler }, given) => {
      const queue = new Scheduler();
      const order = [];
      const all = [queue.submit("first", () => new Promise(setImmediate))];
      for (const [name, priority] of given) all.push(queue.submit(name, () => order.push(name), { priority }));
      const waiting = queue.waiting;
      await Promise.all(all);
      return [waiting, order];
    }, jobs);
    const order = [...jobs].sort((one, other) => other[1] - one[1]).map(([name]) => name);
    assert.deepEqual(got, [order, order]);
  });

  test("listens until told not to", () => {
    const count = wholes(random("listen"))(2, 9);
    const got = ask(({ Signals }, given) => {
      const bus = new Signals();
      const heard = [];
      const off = bus.on("a", (...words) => heard.push(words));
      for (let at = 0; at < given; at += 1) bus.emit("a", at, "word");
      bus.emit("b", "other");
      off();
      return [heard, bus.emit("a", "late"), bus.off("a", () => {})];
    }, count);
    assert.deepEqual(got, [Array.from({ length: count }, (_, at) => [at, "word"]), 0, false]);
  });

  test("tries until it does well", () => {
    const failures = wholes(random("tries"))(0, 3);
    const got = ask(async ({ persist }, given) => {
      const pauses = [];
      const work = async (attempt) => {
        if (attempt <= given) throw new Error("not yet");
        return "try " + attempt;
      };
      return [await persist(work, { times: 5, pause: async (attempt) => pauses.push(attempt) }), pauses];
    }, failures);
    assert.deepEqual(got, ["try " + (failures + 1), [1, 2, 3].slice(0, failures)]);
  });

  test("maps items that run all at once", () => {
    const whole = wholes(random("map"));
    const items = Array.from({ length: 6 }, () => "item" + whole(1, 99));
    const got = ask(({ eachLimited }, given) => eachLimited(given, 10, async (item) => item + "!"), items);
    assert.deepEqual(got, items.map((item) => item + "!"));
  });

  test("quantiles of numbers of one digit", () => {
    const whole = wholes(random("digits"));
    const ordered = Array.from({ length: 9 }, () => whole(0, 9)).sort();
    const got = ask(({ rankedValue }, given) => [0, 0.5, 0.9, 1].map((share) => rankedValue(given, share)), ordered);
    assert.deepEqual(got, [ordered[0], ordered[4], ordered[8], ordered[8]]);
  });
});
