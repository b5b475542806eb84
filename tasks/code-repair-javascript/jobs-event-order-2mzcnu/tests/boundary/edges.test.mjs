import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/foreman/index.js");

describe("not-idle-yet", () => {
  test("idle waits for all that run side by side", () => {
    const whole = wholes(random("side"));
    const turns = Array.from({ length: 7 }, () => whole(1, 6));
    const got = ask(async ({ Pool }, given) => {
      const queue = new Pool({ limit: 3 });
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
    const got = ask(async ({ Pool }, given) => {
      const queue = new Pool();
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

describe("given-up", () => {
  test("pauses between tries only", () => {
    const times = wholes(random("pauses"))(2, 6);
    const got = ask(async ({ untilWell }, given) => {
      const pauses = [];
      const pause = async (attempt, error) => {
        pauses.push([attempt, error.message]);
      };
      const work = async (attempt) => {
        throw new Error("try " + attempt);
      };
      await untilWell(work, { times: given, pause }).catch(() => {});
      return pauses;
    }, times);
    assert.deepEqual(got, Array.from({ length: times - 1 }, (_, at) => [at + 1, "try " + (at + 1)]));
  });

  test("the error is the very one, and what is not worth it ends at once", () => {
    const code = wholes(random("code"))(400, 599);
    const got = ask(async ({ untilWell }, given) => {
      const said = [];
      for (const thrown of [Object.assign(new RangeError("no"), { code: given }), { code: given }, "word", undefined]) {
        let tries = 0;
        const work = async () => {
          tries += 1;
          throw thrown;
        };
        const isWorthIt = (error) => typeof error !== "string";
        const same = await untilWell(work, { times: 2, isWorthIt }).then(() => false, (error) => error === thrown);
        said.push([same, tries]);
      }
      return said;
    }, code);
    assert.deepEqual(got, [[true, 2], [true, 2], [true, 1], [true, 2]]);
  });
});
