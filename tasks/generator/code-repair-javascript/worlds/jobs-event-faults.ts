/** Faults of what the job queue tells: methods handed over alone, listeners that come and go, and when it is idle. */
import type { Fault } from "../../support/repair/world.ts";

export const JOBS_EVENT_FAULTS: readonly Fault[] = [
  {
    id: "handed-over",
    kind: "wrong-this",
    distance: 1,
    file: "bus.js",
    right: "  emit = (name, ...given) => {\n",
    broken: "  emit(name, ...given) {\n",
    other: "  emit = this.#tell.bind(this);\n\n  #tell(name, ...given) {\n",
    symptom:
      'We forward events from one bus to another by `source.on("word", (...words) => send("word", ...words))`, with `const { emit: send } = target`. This fails with a TypeError (Cannot read properties of undefined), and so does `promise.then(bus.emit)`. `on`, `once` and `off` can be handed over like this. We expect the same of `emit`.',
    rule: "emit can be handed over by itself, and belongs to its own bus then as well.",
    edge: "Of several buses each function belongs to its own, whatever object it is called on.",
    visible: `test("emit can be handed over", () => {
  const bus = new lib.QBus();
  const heard = [];
  bus.on("word", (text) => heard.push(text));
  const { emit } = bus;
  emit("word", "a");
  assert.deepEqual(heard, ["a"]);
});
`,
    unit: `test("forwards by a function alone", () => {
  const words = wholes(random("words"))(2, 7);
  const got = ask(async ({ QBus }, given) => {
    const bus = new QBus();
    const heard = [];
    bus.on("word", (...said) => heard.push(said));
    const send = bus.emit;
    for (let at = 0; at < given; at += 1) send("word", at, "more");
    const count = await Promise.resolve("word").then(bus.emit);
    ["word"].forEach(bus.emit);
    return [count, heard.length, heard[0], heard[given], heard[given + 1]];
  }, words);
  assert.deepEqual(got, [1, words + 2, [0, "more"], [], [0, ["word"]]]);
});

test("the bus of a queue can be forwarded", () => {
  const name = "job" + wholes(random("queue"))(1, 99);
  const got = ask(async ({ QQueue, QBus }, given) => {
    const queue = new QQueue();
    const all = new QBus();
    const heard = [];
    all.on("done", (...said) => heard.push(said));
    const { emit } = all;
    queue.bus.on("done", (...said) => emit("done", "queue", ...said));
    await queue.Qadd(given, async () => 7);
    return heard;
  }, name);
  assert.deepEqual(got, [["queue", name, 7]]);
});
`,
    boundary: `test("several buses stay apart", () => {
  const count = wholes(random("apart"))(2, 6);
  const got = ask(({ QBus }, given) => {
    const buses = Array.from({ length: given }, () => new QBus());
    const heard = buses.map(() => []);
    const sends = buses.map(({ emit }) => emit);
    buses.forEach((bus, at) => bus.on("word", (text) => heard[at].push(text)));
    sends.forEach((send, at) => send("word", at));
    new QBus();
    sends[0]("word", "again");
    return heard;
  }, count);
  assert.deepEqual(got, Array.from({ length: count }, (_, at) => (at === 0 ? [0, "again"] : [at])));
});

test("belongs to its bus whatever it is called on", () => {
  const word = "word" + wholes(random("called"))(1, 99);
  const got = ask(({ QBus }, given) => {
    const one = new QBus();
    const other = new QBus();
    const heard = [];
    one.on("a", (text) => heard.push("one " + text));
    other.on("a", (text) => heard.push("other " + text));
    const port = { send: one.emit };
    port.send("a", given);
    one.emit.call(other, "a", given);
    one.emit.apply(undefined, ["a", given]);
    return [heard, one.emit("a", given), other.emit("b")];
  }, word);
  assert.deepEqual(got, [Array.from({ length: 4 }, () => "one " + word), 1, 0]);
});
`,
    wrong: [
      {
        name: "the-latest-bus",
        text: "  static #latest;\n\n  constructor() {\n    QBus.#latest = this;\n  }\n\n  emit(name, ...given) {\n    if (!(this instanceof QBus)) return QBus.#latest.emit(name, ...given);\n",
        fails: ["several buses stay apart", "belongs to its bus whatever it is called on"],
      },
      {
        name: "says-nothing",
        text: "  emit(name, ...given) {\n    if (this === undefined) return 0;\n",
        fails: ["forwards by a function alone", "the bus of a queue can be forwarded"],
      },
      {
        name: "bound-by-the-first-listener",
        text: "  constructor() {\n    const { on } = this;\n    this.on = (name, listener) => {\n      this.emit = QBus.prototype.emit.bind(this);\n      return on(name, listener);\n    };\n  }\n\n  emit(name, ...given) {\n    if (!(this instanceof QBus)) return 0;\n",
        fails: ["several buses stay apart"],
      },
    ],
  },
  {
    id: "listeners-that-go",
    kind: "mutable-state",
    distance: 3,
    file: "bus.js",
    right:
      "    for (const listener of [...listeners]) {\n      if (!listeners.includes(listener)) continue;\n      count += 1;\n",
    broken: "    for (const listener of listeners) {\n      count += 1;\n",
    other:
      "    const called = listeners.slice();\n    for (const listener of called.filter((one) => listeners.includes(one))) {\n      if (listeners.indexOf(listener) < 0) continue;\n      count += 1;\n",
    symptom:
      "Some of our listeners miss an event. When `once` and `on` both listen to `done`, the one by `on` does not hear of the first job, and hears of all later ones. We expect every listener to hear of every event that comes while it listens.",
    rule: "emit calls all who listen, in the order in which they were added, also when some are taken off meanwhile.",
    edge: "One that was taken off before its turn is not called, and one that is added meanwhile only from the next emit on.",
    visible: `test("the listener after once hears the first event", async () => {
  const queue = new lib.QQueue();
  const heard = [];
  queue.bus.once("done", (name) => heard.push("once " + name));
  queue.bus.on("done", (name) => heard.push("on " + name));
  await queue.Qadd("first", () => 1);
  assert.deepEqual(heard, ["once first", "on first"]);
});
`,
    unit: `test("all hear the first event", () => {
  const whole = wholes(random("mixed"));
  const kinds = ["once", "on", ...Array.from({ length: 6 }, () => (whole(0, 1) === 0 ? "once" : "on")), "on"];
  const got = ask(({ QBus }, given) => {
    const bus = new QBus();
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
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const heard = [];
    let left = given;
    const off = queue.bus.on("start", (name) => {
      left -= 1;
      if (left === 0) off();
      heard.push("brief " + name);
    });
    queue.bus.on("start", (name) => heard.push(name));
    for (let at = 1; at <= given + 1; at += 1) await queue.Qadd("job" + at, () => 1);
    return heard;
  }, times);
  const told = Array.from({ length: times }, (_, at) => ["brief job" + (at + 1), "job" + (at + 1)]).flat();
  assert.deepEqual(got, [...told, "job" + (times + 1)]);
});
`,
    boundary: `test("one that was taken off before its turn is not called", () => {
  const word = "word" + wholes(random("off"))(1, 99);
  const got = ask(({ QBus }, given) => {
    const bus = new QBus();
    const heard = [];
    let off = () => {};
    bus.on("a", () => off());
    off = bus.on("a", () => heard.push("taken off"));
    bus.on("a", (text) => heard.push(text));
    return [bus.emit("a", given), bus.emit("a", given), heard];
  }, word);
  assert.deepEqual(got, [2, 2, [word, word]]);
});

test("one that is added meanwhile waits for the next event", () => {
  const count = wholes(random("added"))(1, 4);
  const got = ask(({ QBus }, given) => {
    const bus = new QBus();
    const heard = [];
    bus.on("a", () => {
      if (heard.length < 20) bus.once("a", (text) => heard.push(text));
    });
    const counts = [];
    for (let at = 0; at <= given; at += 1) counts.push(bus.emit("a", at));
    return [counts, heard];
  }, count);
  const heard = Array.from({ length: count }, (_, at) => at + 1);
  assert.deepEqual(got, [[1, ...heard.map(() => 2)], heard]);
});
`,
    wrong: [
      {
        name: "calls-all-it-knew",
        text: "    for (const listener of [...listeners]) {\n      count += 1;\n",
        fails: ["one that was taken off before its turn is not called"],
      },
      {
        name: "the-added-too",
        text: "    const called = new Set();\n    const next = () => listeners.find((one) => !called.has(one));\n    for (let listener = next(); listener !== undefined; listener = next()) {\n      called.add(listener);\n      count += 1;\n",
        fails: ["one that is added meanwhile waits for the next event"],
      },
      {
        name: "from-the-end",
        text: "    for (let at = listeners.length - 1; at >= 0; at -= 1) {\n      const listener = listeners[at];\n      count += 1;\n",
        fails: ["all hear the first event", "one that takes itself off harms no other"],
      },
    ],
  },
  {
    id: "not-idle-yet",
    kind: "event-order",
    distance: 2,
    file: "queue.js",
    right: '    this.#fill();\n    if (this.#active === 0) this.bus.emit("idle");\n',
    broken: '    if (this.#active === 0) this.bus.emit("idle");\n    this.#fill();\n',
    other: '    if (this.#active === 0 && this.#waiting.length === 0) this.bus.emit("idle");\n    else this.#fill();\n',
    symptom:
      "Our program ends before its work is done. It ends when the queue tells `idle`, and with three jobs in a queue of limit 1 that happens after the first of them. We expect `idle` only when no job runs or waits any more.",
    rule: "idle is told when a job has ended and no job runs or waits any more, and only then.",
    edge: "It is told each time that this happens, after the last done or failed, also with a limit above 1 and when listeners add jobs.",
    visible: `test("idle comes after all jobs", async () => {
  const queue = new lib.QQueue();
  const told = [];
  queue.bus.on("done", (name) => told.push(name));
  queue.bus.on("idle", () => told.push("idle"));
  await Promise.all(["a", "b", "c"].map((name) => queue.Qadd(name, async () => name)));
  assert.deepEqual(told, ["a", "b", "c", "idle"]);
});
`,
    unit: `test("idle is told once, after the last job", () => {
  const jobs = wholes(random("jobs"))(3, 9);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const told = [];
    for (const kind of ["start", "done", "failed", "idle"]) queue.bus.on(kind, () => told.push(kind));
    const work = async () => {
      await new Promise(setImmediate);
      if (told.length > 4) throw new Error("no");
    };
    await Promise.allSettled(Array.from({ length: given }, (_, at) => queue.Qadd("job" + at, work)));
    return told;
  }, jobs);
  const kinds = ["start", "done", "start"].concat(["done"]);
  const rest = Array.from({ length: jobs - 2 }, () => ["start", "failed"]).flat();
  assert.deepEqual(got, [...kinds, ...rest, "idle"]);
});

test("nothing runs or waits when idle is told", () => {
  const jobs = wholes(random("waits"))(3, 12);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const seen = [];
    queue.bus.on("idle", () => seen.push([queue.active, queue.waiting.length, queue.report().jobs]));
    await Promise.all(Array.from({ length: given }, (_, at) => queue.Qadd("job" + at, () => at)));
    return seen;
  }, jobs);
  assert.deepEqual(got, [[0, 0, jobs]]);
});
`,
    boundary: `test("idle waits for all that run side by side", () => {
  const whole = wholes(random("side"));
  const turns = Array.from({ length: 7 }, () => whole(1, 6));
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue({ limit: 3 });
    const told = [];
    queue.bus.on("done", () => told.push("done"));
    queue.bus.on("idle", () => told.push("idle"));
    const work = (count) => async () => {
      for (let at = 0; at < count; at += 1) await new Promise(setImmediate);
    };
    await Promise.all(given.map((count, at) => queue.Qadd("job" + at, work(count))));
    return told;
  }, [...turns, 1, 9, 1]);
  assert.deepEqual(got, [...turns.map(() => "done"), "done", "done", "done", "idle"]);
});

test("idle is told each time, and not while a listener adds jobs", () => {
  const rounds = wholes(random("rounds"))(2, 5);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const told = [];
    queue.bus.on("idle", () => told.push("idle"));
    for (let at = 0; at < given; at += 1) await queue.Qadd("job", () => told.push("job"));
    let follow;
    const followed = new Promise((resolve) => {
      queue.bus.once("done", () => {
        follow = queue.Qadd("follow", () => told.push("follow"));
        resolve();
      });
    });
    await queue.Qadd("last", () => told.push("last"));
    await followed;
    await follow;
    return told;
  }, rounds);
  assert.deepEqual(got, [...Array.from({ length: rounds }, () => ["job", "idle"]).flat(), "last", "follow", "idle"]);
});
`,
    wrong: [
      {
        name: "nothing-waits",
        text: '    if (this.#waiting.length === 0) this.bus.emit("idle");\n    this.#fill();\n',
        fails: [
          "idle waits for all that run side by side",
          "idle is told each time, and not while a listener adds jobs",
        ],
      },
      {
        name: "only-the-first-time",
        text: '    this.#fill();\n    if (this.#active === 0 && this.#told !== true) {\n      this.#told = true;\n      this.bus.emit("idle");\n    }\n  }\n\n  #told = false;\n\n  get isIdle() {\n    return this.#active === 0;\n',
        fails: ["idle is told each time, and not while a listener adds jobs"],
      },
      {
        name: "one-of-many",
        text: '    this.#fill();\n    if (this.#active < this.#limit && this.#waiting.length === 0) this.bus.emit("idle");\n',
        fails: ["idle waits for all that run side by side"],
      },
    ],
  },
];
