/** Faults of the cache's entries: how long they live, and which one makes room. */
import type { Fault } from "../../support/repair/world.ts";

export const CACHE_ENTRY_FAULTS: readonly Fault[] = [
  {
    id: "no-lifetime",
    kind: "wrong-default",
    distance: 1,
    file: "cache.js",
    right: "    const ttl = options.ttl ?? this.#ttl;\n",
    broken: "    const ttl = options.ttl || this.#ttl;\n",
    other: "    const { ttl: own } = options;\n    const ttl = own === undefined || own === null ? this.#ttl : own;\n",
    symptom:
      'Pages that must never be cached are cached. We call `cache.set("page", html, { ttl: 0 })`, and `cache.get("page")` still gives the page a second later. We expect nothing to be kept then, and every other lifetime to count as before.',
    rule: "An entry that is set with a ttl of 0 or less is not kept, and what was kept for its key is gone.",
    edge: "A ttl of undefined or null is the cache's own, and one of Infinity never ends.",
    visible: `test("a ttl of 0 keeps nothing", () => {
  const cache = new lib.QCache({ now: () => 100 });
  cache.set("page", "html", { ttl: 0 });
  assert.equal(cache.get("page"), undefined);
});
`,
    unit: `test("a ttl of 0 keeps nothing and forgets what there was", () => {
  const value = wholes(random("zero"))(1, 999);
  const got = ask(({ QCache }, given) => {
    let time = 50;
    const cache = new QCache({ now: () => time, ttl: 100 });
    cache.set("a", given, { ttl: 0 });
    cache.set("b", given);
    cache.set("b", given + 1, { ttl: 0 });
    cache.set("c", given);
    const said = [cache.has("a"), cache.has("b"), cache.size];
    time = 49;
    return [...said, cache.has("a"), cache.keys()];
  }, value);
  assert.deepEqual(got, [false, false, 1, false, ["c"]]);
});

test("a load with a ttl of 0 is made each time", () => {
  const times = wholes(random("times"))(2, 6);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let made = 0;
    for (let at = 0; at < given; at += 1) await cache.Qload("a", () => (made += 1), { ttl: 0 });
    return [made, cache.size];
  }, times);
  assert.deepEqual(got, [times, 0]);
});
`,
    boundary: `test("undefined and null are no lifetime of their own", () => {
  const ttl = wholes(random("default"))(10, 400);
  const got = ask(({ QCache }, given) => {
    let time = 0;
    const cache = new QCache({ now: () => time, ttl: given });
    cache.set("a", 1, { ttl: undefined });
    cache.set("b", 2, { ttl: null });
    cache.set("c", 3, {});
    cache.set("d", 4);
    time = given - 1;
    const before = cache.keys();
    time = given + 1;
    return [before, cache.keys()];
  }, ttl);
  assert.deepEqual(got, [["a", "b", "c", "d"], []]);
});

test("endless, negative and very short lifetimes", () => {
  const got = ask(({ QCache }) => {
    let time = 0;
    const cache = new QCache({ now: () => time });
    cache.set("endless", 1, { ttl: Infinity });
    cache.set("negative", 2, { ttl: -5 });
    cache.set("short", 3, { ttl: 0.25 });
    const before = cache.keys();
    time = 1e15;
    return [before, cache.keys()];
  });
  assert.deepEqual(got, [["endless", "short"], ["endless"]]);
});
`,
    wrong: [
      {
        name: "asks-for-the-key",
        text: '    const ttl = "ttl" in options ? options.ttl : this.#ttl;\n',
        fails: ["undefined and null are no lifetime of their own"],
      },
      {
        name: "whole-milliseconds",
        text: "    const ttl = Number.isFinite(options.ttl) ? Math.trunc(options.ttl) : this.#ttl;\n",
        fails: ["endless, negative and very short lifetimes"],
      },
      {
        name: "shortest-lifetime",
        text: "    const ttl = options.ttl === 0 ? 1 : (options.ttl ?? this.#ttl);\n",
        fails: ["a ttl of 0 keeps nothing and forgets what there was", "a load with a ttl of 0 is made each time"],
      },
      {
        name: "leaves-the-old-one",
        text: "    if (options.ttl === 0) return;\n    const ttl = options.ttl ?? this.#ttl;\n",
        fails: ["a ttl of 0 keeps nothing and forgets what there was"],
      },
    ],
  },
  {
    id: "last-moment",
    kind: "boundary",
    distance: 2,
    file: "entry.js",
    right: "    return now < this.expires;\n",
    broken: "    return now <= this.expires;\n",
    other: "    return !(now >= this.expires);\n",
    symptom:
      "Sessions live a moment too long. With `new QCache({ now, ttl: 1000 })` and a session set at 0, `has` still says true at 1000, and `Qprune()` leaves it there. We expect it to be gone at that moment, by every method, as the rules say.",
    rule: "At the very moment when its whole ttl has passed, an entry is gone for every method.",
    edge: "Before that moment, by however little, an entry lives.",
    visible: `test("is gone when the whole ttl has passed", () => {
  let time = 0;
  const cache = new lib.QCache({ now: () => time, ttl: 1000 });
  cache.set("session", 1);
  time = 1000;
  assert.equal(cache.has("session"), false);
});
`,
    unit: `test("every method agrees on the last moment", () => {
  const whole = wholes(random("moment"));
  const got = ask(({ QCache }, { start, ttl }) => {
    let time = start;
    const fresh = () => {
      time = start;
      const cache = new QCache({ now: () => time, ttl });
      cache.set("a", 1);
      time = start + ttl;
      return cache;
    };
    return [fresh().get("a") ?? null, fresh().has("a"), fresh().size, fresh().keys(), fresh().Qprune()];
  }, { start: whole(0, 10 ** 5) * 10, ttl: whole(1, 10 ** 5) * 10 + 3 });
  assert.deepEqual(got, [null, false, 0, [], 1]);
});

test("a load is made anew at the last moment", () => {
  const ttl = wholes(random("again"))(1, 500) * 10 + 1;
  const got = ask(async ({ QCache }, given) => {
    let time = 0;
    const cache = new QCache({ now: () => time, ttl: given });
    const said = [await cache.Qload("a", () => "first")];
    time = given;
    return [...said, await cache.Qload("a", () => "second")];
  }, ttl);
  assert.deepEqual(got, ["first", "second"]);
});
`,
    boundary: `test("lives until just before", () => {
  const whole = wholes(random("before"));
  const got = ask(({ QCache }, { start, ttl }) => {
    let time = start;
    const cache = new QCache({ now: () => time, ttl });
    cache.set("a", 1);
    time = start + ttl - 1;
    const whole = cache.has("a");
    time = start + ttl - 0.25;
    return [whole, cache.has("a"), cache.keys()];
  }, { start: whole(0, 999), ttl: whole(2, 999) });
  assert.deepEqual(got, [true, true, ["a"]]);
});

test("expires at a fraction and stays gone", () => {
  const ttl = wholes(random("fraction"))(1, 99) + 0.5;
  const got = ask(({ QCache }, given) => {
    let time = 0;
    const cache = new QCache({ now: () => time, ttl: given });
    cache.set("a", 1);
    time = given - 0.25;
    const before = cache.has("a");
    time = given + 0.25;
    return [before, cache.has("a"), cache.size];
  }, ttl);
  assert.deepEqual(got, [true, false, 0]);
});
`,
    wrong: [
      {
        name: "a-millisecond-less",
        text: "    return now <= this.expires - 1;\n",
        fails: ["lives until just before", "expires at a fraction and stays gone"],
      },
      {
        name: "rounds-the-clock",
        text: "    return Math.round(now) < Math.round(this.expires);\n",
        fails: ["lives until just before"],
      },
      {
        name: "only-whole-seconds",
        text: "    return this.expires % 1000 === 0 ? now < this.expires : now <= this.expires;\n",
        fails: ["every method agrees on the last moment", "a load is made anew at the last moment"],
      },
    ],
  },
  {
    id: "least-used",
    kind: "ordering",
    distance: 3,
    file: "cache.js",
    right: "    this.#entries.delete(key);\n    this.#entries.set(key, entry);\n    return entry.value;\n",
    broken: "    return entry.value;\n",
    other:
      "    const others = [...this.#entries].filter(([kept]) => kept !== key);\n    this.#entries = new Map([...others, [key, entry]]);\n    return entry.value;\n",
    symptom:
      'The cache throws away what we need most. With a limit of 2 we `set("a", 1)`, `set("b", 2)`, read `get("a")`, and `set("c", 3)`: then `a` is gone and `b`, which nobody has asked for, is still there. We expect the least recently used entry to make room.',
    rule: "The least recently used entry makes room, and a value that get or Qload gives has been used.",
    edge: "Use changes only the order: an entry keeps its lifetime and its tags, and has and keys are no use.",
    visible: `test("what was read stays", () => {
  const cache = new lib.QCache({ now: () => 0, limit: 2 });
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  assert.deepEqual([cache.has("a"), cache.has("b"), cache.has("c")], [true, false, true]);
});
`,
    unit: `test("the least recently read makes room", () => {
  const whole = wholes(random("reads"));
  const names = ["a", "b", "c", "d", "e"];
  const reads = ["c", ...Array.from({ length: 6 }, () => names[whole(0, 4)]), "a"];
  const got = ask(({ QCache }, { names, reads }) => {
    const cache = new QCache({ now: () => 0, limit: 7 });
    for (const name of names) cache.set(name, name);
    for (const name of reads) cache.get(name);
    const order = cache.keys();
    for (let at = 0; at < 4; at += 1) cache.set(at, at);
    return [order, cache.keys()];
  }, { names, reads });
  let order = names;
  for (const read of reads) order = [...order.filter((name) => name !== read), read];
  assert.deepEqual(got, [order, [...order.slice(2), 0, 1, 2, 3]]);
});

test("a load of what is kept is a use", () => {
  const value = wholes(random("use"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0, limit: 2 });
    cache.set("a", given);
    cache.set("b", 2);
    const loaded = await cache.Qload("a", () => -1);
    cache.set("c", 3);
    return [loaded, cache.keys()];
  }, value);
  assert.deepEqual(got, [value, ["a", "c"]]);
});
`,
    boundary: `test("a read does not prolong a life", () => {
  const ttl = wholes(random("life"))(10, 99);
  const got = ask(({ QCache }, given) => {
    let time = 0;
    const cache = new QCache({ now: () => time, ttl: given });
    cache.set("a", 1, { ttl: given * 2 });
    cache.set("b", 2);
    time = given - 1;
    cache.get("a");
    cache.get("b");
    time = given + 1;
    const kept = cache.keys();
    time = given * 2 + 1;
    return [kept, cache.keys()];
  }, ttl);
  assert.deepEqual(got, [["a"], []]);
});

test("a read leaves the tags, and a look is no use", () => {
  const limit = wholes(random("look"))(2, 6);
  const got = ask(({ QCache }, given) => {
    const cache = new QCache({ now: () => 0, limit: given });
    for (let at = 0; at < given; at += 1) cache.set(at, at, { tags: ["t" + at] });
    cache.get(0);
    cache.has(1);
    cache.keys();
    cache.set("new", 1);
    return [cache.has(0), cache.has(1), cache.Qdrop("t0"), cache.has(0)];
  }, limit);
  assert.deepEqual(got, [true, false, 1, false]);
});
`,
    wrong: [
      {
        name: "sets-it-anew",
        text: "    this.set(key, entry.value, { tags: entry.tags });\n    return entry.value;\n",
        fails: ["a read does not prolong a life"],
      },
      {
        name: "only-when-full",
        text: "    if (this.#entries.size >= this.#limit) {\n      this.#entries.delete(key);\n      this.#entries.set(key, entry);\n    }\n    return entry.value;\n",
        fails: ["the least recently read makes room"],
      },
      {
        name: "loses-the-tags",
        text: "    this.#entries.delete(key);\n    this.#entries.set(key, new Entry(entry.value, entry.expires));\n    return entry.value;\n",
        fails: ["a read leaves the tags, and a look is no use"],
      },
      {
        name: "to-the-front",
        text: "    this.#entries.delete(key);\n    this.#entries = new Map([[key, entry], ...this.#entries]);\n    return entry.value;\n",
        fails: ["the least recently read makes room", "a load of what is kept is a use"],
      },
    ],
  },
];
