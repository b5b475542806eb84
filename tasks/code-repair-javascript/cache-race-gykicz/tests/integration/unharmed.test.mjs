import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/shortshelf/index.js");

describe("unharmed", () => {
  test("keeps what was set last and forgets what was deleted", () => {
    const whole = wholes(random("kept"));
    const moves = Array.from({ length: 30 }, () => ["key" + whole(1, 6), whole(0, 99)]);
    const got = ask(({ Store }, given) => {
      const cache = new Store({ now: () => 5 });
      for (const [key, value] of given) {
        if (value % 4 === 0) cache.delete(key);
        else cache.set(key, value);
      }
      return ["key1", "key2", "key3", "key4", "key5", "key6"].map((key) => cache.get(key) ?? null);
    }, moves);
    const kept = new Map();
    for (const [key, value] of moves) {
      if (value % 4 === 0) kept.delete(key);
      else kept.set(key, value);
    }
    assert.deepEqual(got, [1, 2, 3, 4, 5, 6].map((number) => kept.get("key" + number) ?? null));
  });

  test("forgets by tag", () => {
    const whole = wholes(random("tags"));
    const given = Array.from({ length: 12 }, (_, at) => ["k" + at, whole(0, 1) === 0 ? ["odd", "red"] : ["even"]]);
    given.push(["plain", undefined], ["last", ["red"]]);
    const got = ask(({ Store }, entries) => {
      const cache = new Store({ now: () => 5 });
      for (const [key, tags] of entries) cache.set(key, 1, { tags: tags ?? undefined });
      return [cache.dropTag("red"), cache.keys(), cache.dropTag("red")];
    }, given);
    const left = given.filter(([, tags]) => !tags?.includes("red")).map(([key]) => key);
    assert.deepEqual(got, [given.length - left.length, left, 0]);
  });

  test("forgets what expired long ago", () => {
    const ttl = wholes(random("ttl"))(5, 500);
    const got = ask(({ Store }, given) => {
      let time = 1000;
      const cache = new Store({ now: () => time, ttl: given });
      cache.set("a", 1);
      cache.set("b", 2, { ttl: given * 10 });
      time += given - 1;
      const before = [cache.size, cache.has("a")];
      time += 3;
      return [before, cache.get("a") ?? null, cache.get("b"), cache.purge(), cache.keys()];
    }, ttl);
    assert.deepEqual(got, [[2, true], null, 2, 1, ["b"]]);
  });

  test("keeps as many as the limit allows", () => {
    const limit = wholes(random("limit"))(2, 9);
    const got = ask(({ Store }, given) => {
      const cache = new Store({ now: () => 0, limit: given });
      for (let at = 0; at < given + 3; at += 1) cache.set(at, at);
      return cache.keys();
    }, limit);
    assert.deepEqual(got, Array.from({ length: limit }, (_, at) => at + 3));
  });

  test("loads once what is then kept", () => {
    const value = wholes(random("loaded"))(1, 999);
    const got = ask(async ({ Store }, given) => {
      const cache = new Store({ now: () => 0 });
      const made = [];
      const make = async (key) => {
        made.push(key);
        return given;
      };
      return [await cache.ensure("a", make), await cache.ensure("a", make), await cache.ensure("b", () => 7), made];
    }, value);
    assert.deepEqual(got, [value, value, 7, ["a"]]);
  });
});
