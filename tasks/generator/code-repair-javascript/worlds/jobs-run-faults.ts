/** Faults of how jobs run: when they have ended, and how often they are tried. */
import type { Fault } from "../../support/repair/world.ts";

export const JOBS_RUN_FAULTS: readonly Fault[] = [
  {
    id: "ends-too-early",
    kind: "missing-await",
    distance: 2,
    file: "queue.js",
    right: '    return { kind: "done", value: await work() };\n',
    broken: '    return { kind: "done", value: work() };\n',
    other: '    const value = await work();\n    return { kind: "done", value };\n',
    symptom:
      "The queue floods our server. With `new QQueue({ limit: 2 })` and ten downloads added by `Qadd`, all ten run at the same time, and `done` is told for each while it is still running, also for those that fail later. The promises that `Qadd` gives are right. We expect at most two to run at a time, and every event when it is due.",
    rule: "A job takes its place from its start until all that it does has ended, and is told as done or failed then.",
    edge: "This holds for anything with a method then, for jobs that fail, and for jobs that throw at once.",
    visible: `test("no more jobs run than the limit allows", async () => {
  const queue = new lib.QQueue({ limit: 2 });
  let running = 0;
  let most = 0;
  const download = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
  };
  await Promise.all(Array.from({ length: 10 }, (_, at) => queue.Qadd("page" + at, download)));
  assert.equal(most, 2);
});
`,
    unit: `test("the limit is kept until jobs have ended", () => {
  const whole = wholes(random("limit"));
  const given = { limit: whole(2, 4), jobs: whole(6, 15) };
  const got = ask(async ({ QQueue }, { limit, jobs }) => {
    const queue = new QQueue({ limit });
    const finish = [];
    const all = Array.from({ length: jobs }, (_, at) => queue.Qadd("job" + at, () => new Promise((resolve) => {
      finish.push(() => resolve(at));
    })));
    const seen = [];
    for (let at = 0; at < jobs; at += 1) {
      await new Promise(setImmediate);
      seen.push([finish.length, queue.active]);
      finish[at]();
    }
    return [seen, await Promise.all(all)];
  }, given);
  const seen = Array.from({ length: given.jobs }, (_, at) => [
    Math.min(given.jobs, at + given.limit),
    Math.min(given.limit, given.jobs - at),
  ]);
  assert.deepEqual(got, [seen, seen.map((_, at) => at)]);
});

test("events tell the value and the end", () => {
  const value = wholes(random("value"))(1, 99);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const told = [];
    for (const kind of ["start", "done", "idle"]) queue.bus.on(kind, (...words) => told.push([kind, ...words]));
    let finish;
    const job = queue.Qadd("a", () => new Promise((resolve) => {
      finish = resolve;
    }));
    await new Promise(setImmediate);
    const before = told.length;
    finish(given);
    await job;
    return [before, told];
  }, value);
  assert.deepEqual(got, [1, [["start", "a"], ["done", "a", value], ["idle"]]]);
});
`,
    boundary: `test("a job that fails later is told as failed", () => {
  const word = "broken" + wholes(random("failed"))(1, 99);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const told = [];
    queue.bus.on("done", (name) => told.push("done " + name));
    queue.bus.on("failed", (name, error) => told.push("failed " + name + " " + error.message));
    const late = async () => {
      await new Promise(setImmediate);
      throw new Error(given);
    };
    const atOnce = () => {
      throw new Error("at once");
    };
    const ended = await Promise.allSettled([queue.Qadd("late", late), queue.Qadd("once", atOnce), queue.Qadd("well", () => 1)]);
    return [told, ended.map(({ reason, value }) => reason?.message ?? value)];
  }, word);
  assert.deepEqual(got, [["failed late " + word, "failed once at once", "done well"], [word, "at once", 1]]);
});

test("whatever has a method then is waited for", () => {
  const value = wholes(random("then"))(1, 99);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const order = [];
    const lazy = { then: (resolve) => setImmediate(() => resolve(order.push("ended"))) };
    const first = queue.Qadd("lazy", () => lazy);
    const second = queue.Qadd("next", () => {
      order.push("next");
      return given;
    });
    return [await first, await second, order];
  }, value);
  assert.deepEqual(got, [1, value, ["ended", "next"]]);
});
`,
    wrong: [
      {
        name: "only-promises",
        text: '    const value = work();\n    return { kind: "done", value: value instanceof Promise ? await value : value };\n',
        fails: ["whatever has a method then is waited for"],
      },
      {
        name: "waits-a-moment",
        text: '    const value = work();\n    await null;\n    return { kind: "done", value };\n',
        fails: ["the limit is kept until jobs have ended", "events tell the value and the end"],
      },
      {
        name: "failures-are-done",
        text: '    const [{ status, value, reason }] = await Promise.allSettled([work()]);\n    return { kind: "done", value: status === "rejected" ? Promise.reject(reason) : value };\n',
        fails: ["a job that fails later is told as failed"],
      },
    ],
  },
  {
    id: "given-up",
    kind: "swallowed-rejection",
    distance: 2,
    file: "retry.js",
    right: "      if (attempt === times || !isWorthIt(error)) throw error;\n",
    broken: "      if (!isWorthIt(error)) throw error;\n",
    other:
      "      const isLast = attempt >= times;\n      if (isLast) throw error;\n      if (!isWorthIt(error)) throw error;\n",
    symptom:
      'Mails that could not be sent are in our list of sent ones. We add them by `Qadd("mail", send, { times: 3 })`; when `send` fails all three times, the promise gives undefined and the queue tells `done`. We expect the job to fail, with the error of `send`.',
    rule: "When the last try fails, the whole fails, with the very error of that try.",
    edge: "There is no pause after the last try, and a failure that is not worth it is the last one.",
    visible: `test("a job that fails each time has failed", async () => {
  const queue = new lib.QQueue();
  const send = async () => {
    throw new Error("no connection");
  };
  await assert.rejects(queue.Qadd("mail", send, { times: 3 }), { message: "no connection" });
});
`,
    unit: `test("fails when every try has failed", () => {
  const times = wholes(random("times"))(2, 7);
  const got = ask(async ({ Qretry }, given) => {
    let tries = 0;
    const work = async (attempt) => {
      tries += 1;
      throw new Error("try " + attempt);
    };
    const said = await Qretry(work, { times: given }).then(() => "well", ({ message }) => message);
    const usual = await Qretry(work).then(() => "well", ({ message }) => message);
    return [said, usual, tries];
  }, times);
  assert.deepEqual(got, ["try " + times, "try 3", times + 3]);
});

test("the queue tells that the job has failed", () => {
  const times = wholes(random("queue"))(2, 5);
  const got = ask(async ({ QQueue }, given) => {
    const queue = new QQueue();
    const told = [];
    queue.bus.on("done", () => told.push("done"));
    queue.bus.on("failed", (name, error) => told.push(name + " " + error.message));
    let tries = 0;
    const work = () => {
      tries += 1;
      throw new Error("no");
    };
    const said = await queue.Qadd("mail", work, { times: given }).catch(({ message }) => "failed: " + message);
    return [said, tries, told];
  }, times);
  assert.deepEqual(got, ["failed: no", times, ["mail no"]]);
});
`,
    boundary: `test("pauses between tries only", () => {
  const times = wholes(random("pauses"))(2, 6);
  const got = ask(async ({ Qretry }, given) => {
    const pauses = [];
    const pause = async (attempt, error) => {
      pauses.push([attempt, error.message]);
    };
    const work = async (attempt) => {
      throw new Error("try " + attempt);
    };
    await Qretry(work, { times: given, pause }).catch(() => {});
    return pauses;
  }, times);
  assert.deepEqual(got, Array.from({ length: times - 1 }, (_, at) => [at + 1, "try " + (at + 1)]));
});

test("the error is the very one, and what is not worth it ends at once", () => {
  const code = wholes(random("code"))(400, 599);
  const got = ask(async ({ Qretry }, given) => {
    const said = [];
    for (const thrown of [Object.assign(new RangeError("no"), { code: given }), { code: given }, "word", undefined]) {
      let tries = 0;
      const work = async () => {
        tries += 1;
        throw thrown;
      };
      const isWorthIt = (error) => typeof error !== "string";
      const same = await Qretry(work, { times: 2, isWorthIt }).then(() => false, (error) => error === thrown);
      said.push([same, tries]);
    }
    return said;
  }, code);
  assert.deepEqual(got, [[true, 2], [true, 2], [true, 1], [true, 2]]);
});
`,
    wrong: [
      {
        name: "pauses-at-the-end",
        text: "      if (!isWorthIt(error)) throw error;\n      if (attempt === times) {\n        await pause(attempt, error);\n        throw error;\n      }\n",
        fails: ["pauses between tries only"],
      },
      {
        name: "an-error-of-its-own",
        text: '      if (!isWorthIt(error)) throw error;\n      if (attempt === times) throw new Error(error?.message ?? "gave up", { cause: error });\n',
        fails: ["the error is the very one, and what is not worth it ends at once"],
      },
      {
        name: "one-try-less",
        text: "      if (attempt >= times - 1 || !isWorthIt(error)) throw error;\n",
        fails: ["fails when every try has failed", "the queue tells that the job has failed"],
      },
      {
        name: "tries-all-times",
        text: "      if (attempt === times) throw error;\n",
        fails: ["the error is the very one, and what is not worth it ends at once"],
      },
    ],
  },
];
