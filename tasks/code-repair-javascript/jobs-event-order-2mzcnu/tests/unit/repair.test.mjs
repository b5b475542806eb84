import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/foreman/index.js");

describe("not-idle-yet", () => {
  test("idle is told once, after the last job", () => {
    const jobs = wholes(random("jobs"))(3, 9);
    const got = ask(async ({ Pool }, given) => {
      const queue = new Pool();
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
    const got = ask(async ({ Pool }, given) => {
      const queue = new Pool();
      const seen = [];
      queue.bus.on("idle", () => seen.push([queue.active, queue.waiting.length, queue.report().jobs]));
      await Promise.all(Array.from({ length: given }, (_, at) => queue.submit("job" + at, () => at)));
      return seen;
    }, jobs);
    assert.deepEqual(got, [[0, 0, jobs]]);
  });
});

describe("given-up", () => {
  test("fails when every try has failed", () => {
    const times = wholes(random("times"))(2, 7);
    const got = ask(async ({ untilWell }, given) => {
      let tries = 0;
      const work = async (attempt) => {
        tries += 1;
        throw new Error("try " + attempt);
      };
      const said = await untilWell(work, { times: given }).then(() => "well", ({ message }) => message);
      const usual = await untilWell(work).then(() => "well", ({ message }) => message);
      return [said, usual, tries];
    }, times);
    assert.deepEqual(got, ["try " + times, "try 3", times + 3]);
  });

  test("the queue tells that the job has failed", () => {
    const times = wholes(random("queue"))(2, 5);
    const got = ask(async ({ Pool }, given) => {
      const queue = new Pool();
      const told = [];
      queue.bus.on("done", () => told.push("done"));
      queue.bus.on("failed", (name, error) => told.push(name + " " + error.message));
      let tries = 0;
      const work = () => {
        tries += 1;
        throw new Error("no");
      };
      const said = await queue.submit("mail", work, { times: given }).catch(({ message }) => "failed: " + message);
      return [said, tries, told];
    }, times);
    assert.deepEqual(got, ["failed: no", times, ["mail no"]]);
  });
});
