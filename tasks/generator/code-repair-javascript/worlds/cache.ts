/** A cache with a clock that is handed in: expiry, a limit by last use, loads that are shared while they run. */
import type { World } from "../../support/repair/world.ts";
import { CACHE_ENTRY_FAULTS } from "./cache-entry-faults.ts";
import { CACHE_LOAD_FAULTS } from "./cache-load-faults.ts";
import { CACHE_MODULE, ENTRY, INDEX, README } from "./cache-source.ts";

export const CACHE: World = {
  name: "cache",
  title: "cache with expiry, a limit and shared loads",
  names: {
    PKG: ["tidepool", "larder", "keepsake", "shortshelf", "pantry", "stillroom"],
    QCache: ["Cache", "Store", "Shelf", "Keeper", "Reserve"],
    Qload: ["load", "obtain", "resolve", "fetchOnce", "ensure"],
    Qdrop: ["dropTag", "forgetTagged", "invalidate", "discard"],
    Qprune: ["prune", "sweep", "tidy", "purge"],
  },
  files: { "index.js": INDEX, "entry.js": ENTRY, "cache.js": CACHE_MODULE },
  readme: README,
  own: `test("keeps and forgets", () => {
  const cache = new lib.QCache({ now: () => 0 });
  cache.set("a", 1);
  assert.equal(cache.get("a"), 1);
  assert.equal(cache.delete("a"), true);
  assert.equal(cache.has("a"), false);
});

test("loads what is not kept", async () => {
  const cache = new lib.QCache({ now: () => 0 });
  assert.equal(await cache.Qload("a", async (key) => key + "!"), "a!");
  assert.equal(cache.get("a"), "a!");
});
`,
  integration: `test("keeps what was set last and forgets what was deleted", () => {
  const whole = wholes(random("kept"));
  const moves = Array.from({ length: 30 }, () => ["key" + whole(1, 6), whole(0, 99)]);
  const got = ask(({ QCache }, given) => {
    const cache = new QCache({ now: () => 5 });
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
  const got = ask(({ QCache }, entries) => {
    const cache = new QCache({ now: () => 5 });
    for (const [key, tags] of entries) cache.set(key, 1, { tags: tags ?? undefined });
    return [cache.Qdrop("red"), cache.keys(), cache.Qdrop("red")];
  }, given);
  const left = given.filter(([, tags]) => !tags?.includes("red")).map(([key]) => key);
  assert.deepEqual(got, [given.length - left.length, left, 0]);
});

test("forgets what expired long ago", () => {
  const ttl = wholes(random("ttl"))(5, 500);
  const got = ask(({ QCache }, given) => {
    let time = 1000;
    const cache = new QCache({ now: () => time, ttl: given });
    cache.set("a", 1);
    cache.set("b", 2, { ttl: given * 10 });
    time += given - 1;
    const before = [cache.size, cache.has("a")];
    time += 3;
    return [before, cache.get("a") ?? null, cache.get("b"), cache.Qprune(), cache.keys()];
  }, ttl);
  assert.deepEqual(got, [[2, true], null, 2, 1, ["b"]]);
});

test("keeps as many as the limit allows", () => {
  const limit = wholes(random("limit"))(2, 9);
  const got = ask(({ QCache }, given) => {
    const cache = new QCache({ now: () => 0, limit: given });
    for (let at = 0; at < given + 3; at += 1) cache.set(at, at);
    return cache.keys();
  }, limit);
  assert.deepEqual(got, Array.from({ length: limit }, (_, at) => at + 3));
});

test("loads once what is then kept", () => {
  const value = wholes(random("loaded"))(1, 999);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const made = [];
    const make = async (key) => {
      made.push(key);
      return given;
    };
    return [await cache.Qload("a", make), await cache.Qload("a", make), await cache.Qload("b", () => 7), made];
  }, value);
  assert.deepEqual(got, [value, value, 7, ["a"]]);
});
`,
  neighbour: {
    file: "cache.js",
    right: "    return tagged.length;\n",
    broken: "    return tagged.length > 0;\n",
  },
  faults: [...CACHE_ENTRY_FAULTS, ...CACHE_LOAD_FAULTS],
};
