/** Faults of the cache's loads: what happens when calls, changes and failures come while one runs. */
import type { Fault } from "../../support/repair/world.ts";

export const CACHE_LOAD_FAULTS: readonly Fault[] = [
  {
    id: "shared-load",
    kind: "race",
    distance: 1,
    file: "cache.js",
    right: "    const running = this.#loading.get(key);\n    if (running !== undefined) return running;\n",
    broken: "    await this.#loading.get(key);\n",
    other: "    if (this.#loading.has(key)) return this.#loading.get(key);\n",
    symptom:
      'When a page becomes popular, our database gets the same question hundreds of times. `await Promise.all([cache.Qload("top", ask), cache.Qload("top", ask)])` runs `ask` twice. We expect the calls for a key to share one load while it runs.',
    rule: "Calls for a key whose load is running share that load: make runs once, and all of them get its value.",
    edge: "Loads of different keys are not shared, and all calls that share a load that fails get its very error.",
    visible: `test("calls at the same time share a load", async () => {
  const cache = new lib.QCache({ now: () => 0 });
  let made = 0;
  const make = async () => (made += 1);
  assert.deepEqual(await Promise.all([cache.Qload("top", make), cache.Qload("top", make)]), [1, 1]);
  assert.equal(made, 1);
});
`,
    unit: `test("many calls at once make one load", () => {
  const calls = wholes(random("calls"))(3, 40);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let made = 0;
    const make = async () => {
      made += 1;
      await new Promise(setImmediate);
      return "value" + made;
    };
    const values = await Promise.all(Array.from({ length: given }, () => cache.Qload("a", make)));
    return [made, [...new Set(values)]];
  }, calls);
  assert.deepEqual(got, [1, ["value1"]]);
});

test("a call that comes later shares the load that runs", () => {
  const value = wholes(random("later"))(1, 999);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const made = [];
    let finish;
    const first = cache.Qload("a", () => {
      made.push("first");
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    await new Promise(setImmediate);
    const second = cache.Qload("a", () => made.push("second"), { ttl: 0 });
    await new Promise(setImmediate);
    finish(given);
    return [await first, await second, made, cache.get("a")];
  }, value);
  assert.deepEqual(got, [value, value, ["first"], value]);
});
`,
    boundary: `test("other keys load for themselves", () => {
  const whole = wholes(random("keys"));
  const keys = [1, "1", "key" + whole(1, 99), "other" + whole(1, 99)];
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const make = async (key) => {
      await new Promise(setImmediate);
      return typeof key + key;
    };
    return Promise.all([...given, ...given].map((key) => cache.Qload(key, make)));
  }, keys);
  const values = keys.map((key) => typeof key + key);
  assert.deepEqual(got, [...values, ...values]);
});

test("all that share a failed load get its error", () => {
  const word = "broken" + wholes(random("error"))(1, 999);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let made = 0;
    const thrown = new Error(given);
    const make = async () => {
      made += 1;
      await new Promise(setImmediate);
      throw thrown;
    };
    const ended = await Promise.allSettled([1, 2, 3].map(() => cache.Qload("a", make)));
    return [made, ended.map(({ status, reason }) => status === "rejected" && reason === thrown)];
  }, word);
  assert.deepEqual(got, [1, [true, true, true]]);
});
`,
    wrong: [
      {
        name: "looks-again",
        text: "    await this.#loading.get(key);\n    if (this.has(key)) return this.get(key);\n",
        fails: ["many calls at once make one load"],
      },
      {
        name: "tries-again-alone",
        text: "    const running = this.#loading.get(key);\n    if (running !== undefined) return running.catch(() => make(key));\n",
        fails: ["all that share a failed load get its error"],
      },
      {
        name: "any-load",
        text: "    const [running] = this.#loading.values();\n    if (running !== undefined) return running;\n",
        fails: ["other keys load for themselves"],
      },
      {
        name: "keys-as-text",
        text: "    for (const [name, running] of this.#loading) {\n      if (String(name) === String(key)) return running;\n    }\n",
        fails: ["other keys load for themselves"],
      },
    ],
  },
  {
    id: "failed-load",
    kind: "error-handling",
    distance: 2,
    file: "cache.js",
    right: `      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key);
      });
`,
    broken: `      .then((value) => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key);
        return value;
      });
`,
    other: `      .then(
        (value) => value,
        (error) => {
          if (this.#loading.get(key) === loading) this.#loading.delete(key);
          throw error;
        },
      );
`,
    symptom:
      'One short outage of our database breaks a page until the server restarts: after `cache.Qload("page", ask)` has failed once, every later `cache.Qload("page", ask)` fails with the same old error, and `ask` is not even called. We expect a failure to be told to those who waited for it, and the next call to try again.',
    rule: "A load that fails keeps nothing: those who share it get its error, and the next call starts a new load.",
    edge: "The error is the very one that was thrown, and the end of an outdated load leaves a newer one alone.",
    visible: `test("the next call tries again", async () => {
  const cache = new lib.QCache({ now: () => 0 });
  const outage = async () => {
    throw new Error("outage");
  };
  await assert.rejects(cache.Qload("page", outage), { message: "outage" });
  assert.equal(await cache.Qload("page", async () => "html"), "html");
});
`,
    unit: `test("each call after a failure starts anew", () => {
  const failures = wholes(random("failures"))(2, 6);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let made = 0;
    const make = async () => {
      made += 1;
      if (made <= given) throw new Error("failure " + made);
      return "well";
    };
    const said = [];
    for (let at = 0; at <= given; at += 1) {
      said.push(await cache.Qload("a", make).catch(({ message }) => message));
    }
    return [said, cache.get("a")];
  }, failures);
  const told = Array.from({ length: failures }, (_, at) => "failure " + (at + 1));
  assert.deepEqual(got, [[...told, "well"], "well"]);
});

test("a make that throws at once is a failed load as well", () => {
  const value = wholes(random("throws"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const failing = () => {
      throw new TypeError("at once");
    };
    const said = await cache.Qload("a", failing).catch(({ name }) => name);
    return [said, cache.has("a"), await cache.Qload("a", () => given)];
  }, value);
  assert.deepEqual(got, ["TypeError", false, value]);
});
`,
    boundary: `test("the error is the very one", () => {
  const code = wholes(random("code"))(400, 599);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const said = [];
    for (const thrown of [Object.assign(new RangeError("no"), { code: given }), { code: given }, "word", undefined]) {
      const make = () => Promise.reject(thrown);
      const [one, other] = await Promise.allSettled([cache.Qload("a", make), cache.Qload("a", make)]);
      said.push(one.status === "rejected" && one.reason === thrown && other.reason === thrown);
    }
    return said;
  }, code);
  assert.deepEqual(got, [true, true, true, true]);
});

test("an outdated load that fails leaves the newer one alone", () => {
  const value = wholes(random("newer"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let fail;
    let finish;
    const old = cache.Qload("a", () => new Promise((_, reject) => {
      fail = reject;
    }));
    await new Promise(setImmediate);
    cache.delete("a");
    const newer = cache.Qload("a", () => new Promise((resolve) => {
      finish = resolve;
    }));
    await new Promise(setImmediate);
    fail(new Error("late"));
    const told = await old.catch(({ message }) => message);
    await new Promise(setImmediate);
    const sharing = cache.Qload("a", () => "made again");
    await new Promise(setImmediate);
    finish(given);
    return [told, await newer, await sharing, cache.get("a")];
  }, value);
  assert.deepEqual(got, ["late", value, value, value]);
});
`,
    wrong: [
      {
        name: "swallows",
        text: "      .catch(() => {\n        this.#loading.delete(key);\n      });\n",
        fails: ["each call after a failure starts anew", "a make that throws at once is a failed load as well"],
      },
      {
        name: "clears-the-newer",
        text: "      .finally(() => {\n        this.#loading.delete(key);\n      });\n",
        fails: ["an outdated load that fails leaves the newer one alone"],
      },
      {
        name: "another-error",
        text: "      .catch((error) => {\n        if (this.#loading.get(key) === loading) this.#loading.delete(key);\n        const told = new Error(error?.message);\n        told.name = error?.name;\n        throw told;\n      });\n",
        fails: ["the error is the very one"],
      },
    ],
  },
  {
    id: "outdated-load",
    kind: "race",
    distance: 3,
    file: "cache.js",
    right: "        if (this.#loading.get(key) === loading) this.set(key, value, options);\n",
    broken: "        this.set(key, value, options);\n",
    other:
      "        const current = this.#loading.get(key);\n        if (current !== loading) return value;\n        this.set(key, value, options);\n",
    symptom:
      "Now and then a price that was changed is the old one again, until it expires. We think it happens when somebody changes a price while a slow page is loading it: the new price is written with `set`, and a moment later the cache has the old one. We expect a change to last.",
    rule: "A set or delete of a key while its load runs counts more than what the load brings.",
    edge: "Those who wait for an outdated load get its value, and of two loads only the newer one is kept.",
    visible: `test("a change during a load lasts", async () => {
  const cache = new lib.QCache({ now: () => 0 });
  const loading = cache.Qload("price", async () => "old");
  cache.set("price", "new");
  await loading;
  assert.equal(cache.get("price"), "new");
});
`,
    unit: `test("what was set during a load stays", () => {
  const value = wholes(random("set"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    let time = 0;
    const cache = new QCache({ now: () => time, ttl: 10 });
    let finish;
    const loading = cache.Qload("a", () => new Promise((resolve) => {
      finish = resolve;
    }), { ttl: 100 });
    await new Promise(setImmediate);
    cache.set("a", given);
    finish("outdated");
    const loaded = await loading;
    await new Promise(setImmediate);
    const kept = cache.get("a");
    time = 50;
    return [loaded, kept, cache.has("a")];
  }, value);
  assert.deepEqual(got, ["outdated", value, false]);
});

test("what was deleted during a load stays away", () => {
  const key = "key" + wholes(random("delete"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    let finish;
    const loading = cache.Qload(given, () => new Promise((resolve) => {
      finish = resolve;
    }));
    const other = cache.Qload("other", () => "kept");
    await new Promise(setImmediate);
    cache.delete(given);
    finish("outdated");
    return [await loading, await other, cache.keys()];
  }, key);
  assert.deepEqual(got, ["outdated", "kept", ["other"]]);
});
`,
    boundary: `test("of two loads the newer one is kept", () => {
  const value = wholes(random("two"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const finish = [];
    const make = () => new Promise((resolve) => {
      finish.push(resolve);
    });
    const first = cache.Qload("a", make);
    await new Promise(setImmediate);
    cache.delete("a");
    const second = cache.Qload("a", make);
    await new Promise(setImmediate);
    finish[0]("outdated");
    const said = [await first];
    await new Promise(setImmediate);
    said.push(cache.get("a") ?? null);
    finish[1](given);
    return [...said, await second, cache.get("a")];
  }, value);
  assert.deepEqual(got, ["outdated", null, value, value]);
});

test("those who wait get what was loaded", () => {
  const value = wholes(random("wait"))(1, 99);
  const got = ask(async ({ QCache }, given) => {
    const cache = new QCache({ now: () => 0 });
    const make = async () => {
      await new Promise(setImmediate);
      return given;
    };
    const waiting = [cache.Qload("a", make), cache.Qload("a", make)];
    cache.set("a", "changed");
    return [await Promise.all(waiting), await cache.Qload("a", make)];
  }, value);
  assert.deepEqual(got, [[value, value], "changed"]);
});
`,
    wrong: [
      {
        name: "looks-for-an-entry",
        text: "        if (!this.has(key)) this.set(key, value, options);\n",
        fails: ["what was deleted during a load stays away"],
      },
      {
        name: "any-load-of-the-key",
        text: "        if (this.#loading.has(key)) this.set(key, value, options);\n",
        fails: ["of two loads the newer one is kept"],
      },
      {
        name: "gives-what-is-kept",
        text: "        if (this.#loading.get(key) !== loading && this.has(key)) return this.get(key);\n        if (this.#loading.get(key) === loading) this.set(key, value, options);\n",
        fails: ["what was set during a load stays"],
      },
    ],
  },
];
