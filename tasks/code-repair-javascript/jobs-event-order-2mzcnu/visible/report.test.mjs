// What was reported, as tests.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as lib from "/app/foreman/index.js";

describe("not-idle-yet", () => {
  test("idle comes after all jobs", async () => {
    const queue = new lib.Pool();
    const told = [];
    queue.bus.on("done", (name) => told.push(name));
    queue.bus.on("idle", () => told.push("idle"));
    await Promise.all(["a", "b", "c"].map((name) => queue.submit(name, async () => name)));
    assert.deepEqual(told, ["a", "b", "c", "idle"]);
  });
});

describe("given-up", () => {
  test("a job that fails each time has failed", async () => {
    const queue = new lib.Pool();
    const send = async () => {
      throw new Error("no connection");
    };
    await assert.rejects(queue.submit("mail", send, { times: 3 }), { message: "no connection" });
  });
});
