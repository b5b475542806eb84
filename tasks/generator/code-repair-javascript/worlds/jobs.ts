/** A queue of jobs: a limit, priorities, events, tries and a report of how long jobs took. */
import type { World } from "../../support/repair/world.ts";
import { JOBS_EVENT_FAULTS } from "./jobs-event-faults.ts";
import { JOBS_RUN_FAULTS } from "./jobs-run-faults.ts";
import { BUS, INDEX, MAP, QUANTILE, QUEUE, README, RETRY } from "./jobs-source.ts";
import { JOBS_VALUE_FAULTS } from "./jobs-value-faults.ts";

export const JOBS: World = {
  name: "jobs",
  title: "job queue with a limit, priorities and events",
  names: {
    PKG: ["foreman", "errands", "workbench", "turnstile", "gangway", "chores"],
    QQueue: ["Queue", "Scheduler", "Dispatcher", "WorkQueue", "Pool"],
    QBus: ["Bus", "Signals", "Emitter", "Notifier"],
    Qadd: ["add", "submit", "enqueue", "schedule"],
    Qmap: ["mapLimited", "mapAll", "processAll", "eachLimited"],
    Qretry: ["retry", "persist", "tryAgain", "untilWell"],
    Qquantile: ["quantile", "percentile", "rankedValue"],
  },
  files: {
    "index.js": INDEX,
    "bus.js": BUS,
    "map.js": MAP,
    "quantile.js": QUANTILE,
    "queue.js": QUEUE,
    "retry.js": RETRY,
  },
  readme: README,
  own: `test("runs a job", async () => {
  const queue = new lib.QQueue();
  assert.equal(await queue.Qadd("one", () => 1), 1);
  await assert.rejects(queue.Qadd("two", async () => {
    throw new Error("no");
  }), { message: "no" });
});

test("tells one listener", () => {
  const bus = new lib.QBus();
  const heard = [];
  bus.on("word", (text) => heard.push(text));
  assert.equal(bus.emit("word", "a"), 1);
  assert.deepEqual(heard, ["a"]);
});
`,
  integration: `test("results are those of the jobs", () => {
  const whole = wholes(random("results"));
  const numbers = Array.from({ length: 12 }, () => whole(1, 99));
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue({ limit: 3 });
    const jobs = given.map((number) => queue.Qadd("job" + number, async () => {
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
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const order = [];
    const all = [queue.Qadd("first", () => new Promise(setImmediate))];
    for (const [name, priority] of given) all.push(queue.Qadd(name, () => order.push(name), { priority }));
    const waiting = queue.waiting;
    await Promise.all(all);
    return [waiting, order];
  }, jobs);
  const order = [...jobs].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  assert.deepEqual(got, [order, order]);
});

test("listens until told not to", () => {
  const count = wholes(random("listen"))(2, 9);
  const got = ask(({ QBus }, given) => {
    const bus = new QBus();
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
  const got = ask(async ({ Qretry }, given) => {
    const pauses = [];
    const work = async (attempt) => {
      if (attempt <= given) throw new Error("not yet");
      return "try " + attempt;
    };
    return [await Qretry(work, { times: 5, pause: async (attempt) => pauses.push(attempt) }), pauses];
  }, failures);
  assert.deepEqual(got, ["try " + (failures + 1), [1, 2, 3].slice(0, failures)]);
});

test("maps items that run all at once", () => {
  const whole = wholes(random("map"));
  const items = Array.from({ length: 6 }, () => "item" + whole(1, 99));
  const got = ask(({ Qmap }, given) => Qmap(given, 10, async (item) => item + "!"), items);
  assert.deepEqual(got, items.map((item) => item + "!"));
});

test("quantiles of numbers of one digit", () => {
  const whole = wholes(random("digits"));
  const ordered = Array.from({ length: 9 }, () => whole(0, 9)).sort();
  const got = ask(({ Qquantile }, given) => [0, 0.5, 0.9, 1].map((share) => Qquantile(given, share)), ordered);
  assert.deepEqual(got, [ordered[0], ordered[4], ordered[8], ordered[8]]);
});
`,
  neighbour: {
    file: "queue.js",
    right: "(other) => other.priority < priority",
    broken: "(other) => other.priority <= priority",
  },
  faults: [...JOBS_RUN_FAULTS, ...JOBS_VALUE_FAULTS, ...JOBS_EVENT_FAULTS],
};
