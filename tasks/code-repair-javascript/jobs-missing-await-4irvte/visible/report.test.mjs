// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/workbench/index.js";

describe("ends-too-early", () => {
  test("no more jobs run than the limit allows", async () => {
    const queue = new lib.WorkQueue({ limit: 2 });
    let running = 0;
    let most = 0;
    const download = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
    };
    await Promise.all(Array.from({ length: 10 }, (_, at) => queue.enqueue("page" + at, download)));
    assert.equal(most, 2);
  });
});
