/** Faults of what jobs are given and what is told of them: the number of an item, and the report. */
import type { Fault } from "../../support/repair/world.ts";

export const JOBS_VALUE_FAULTS: readonly Fault[] = [
  {
    id: "number-of-an-item",
    kind: "closure",
    distance: 1,
    file: "map.js",
    right:
      "  for (const [index, item] of [...items].entries()) {\n    jobs.push(queue.Qadd(String(index), () => work(item, index)));\n  }\n",
    broken:
      "  let index = 0;\n  for (const item of items) {\n    jobs.push(queue.Qadd(String(index), () => work(item, index)));\n    index += 1;\n  }\n",
    other:
      "  let count = 0;\n  for (const item of items) {\n    const index = count;\n    jobs.push(queue.Qadd(String(index), () => work(item, index)));\n    count += 1;\n  }\n",
    symptom:
      "`Qmap` gives most items the wrong number: `await Qmap([...'abc'], 1, (item, index) => item + index)` is `a0`, `b3`, `c3`. Small lists with a high limit are right. We expect `a0`, `b1`, `c2`.",
    rule: "work gets each item with its own number, counted from 0.",
    edge: "This holds for equal items, for everything that can be iterated, and within the limit.",
    visible: `test("every item has its number", async () => {
  assert.deepEqual(await lib.Qmap([..."abc"], 1, (item, index) => item + index), ["a0", "b1", "c2"]);
});
`,
    unit: `test("numbers count from 0 whatever the limit", () => {
  const whole = wholes(random("numbers"));
  const items = Array.from({ length: whole(6, 12) }, (_, at) => "item" + at + whole(1, 9));
  const got = ask(async ({ Qmap }, given) => {
    const work = async (item, index) => {
      await new Promise(setImmediate);
      return [item, index];
    };
    return [await Qmap(given, 1, work), await Qmap(given, 2, work), await Qmap(given, 3, work)];
  }, items);
  const numbered = items.map((item, at) => [item, at]);
  assert.deepEqual(got, [numbered, numbered, numbered]);
});

test("numbers fit when items end in another order", () => {
  const count = wholes(random("order"))(4, 8);
  const got = ask(async ({ Qmap }, given) => {
    const items = Array.from({ length: given }, (_, at) => given - at);
    return Qmap(items, 2, async (turns, index) => {
      for (let at = 0; at < turns; at += 1) await new Promise(setImmediate);
      return turns + index;
    });
  }, count);
  assert.deepEqual(got, Array.from({ length: count }, () => count));
});
`,
    boundary: `test("equal items have numbers of their own", () => {
  const count = wholes(random("equal"))(3, 8);
  const got = ask(({ Qmap }, given) => {
    return Qmap(Array.from({ length: given }, () => "same"), 1, (item, index) => item + index);
  }, count);
  assert.deepEqual(got, Array.from({ length: count }, (_, at) => "same" + at));
});

test("whatever can be iterated, within the limit", () => {
  const count = wholes(random("iterated"))(5, 9);
  const got = ask(async ({ Qmap }, given) => {
    function* numbers() {
      for (let at = 0; at < given; at += 1) yield at * 10;
    }
    let running = 0;
    let most = 0;
    const work = async (item, index) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return item + index;
    };
    return [await Qmap(numbers(), 2, work), await Qmap(new Set(["x", "y", "z"]), 1, work), await Qmap([], 1, work), most];
  }, count);
  assert.deepEqual(got, [Array.from({ length: count }, (_, at) => at * 11), ["x0", "y1", "z2"], [], 2]);
});
`,
    wrong: [
      {
        name: "looks-it-up",
        text: '  const list = [...items];\n  for (const item of list) {\n    jobs.push(queue.Qadd("item", () => work(item, list.indexOf(item))));\n  }\n',
        fails: ["equal items have numbers of their own"],
      },
      {
        name: "starts-all",
        text: "  for (const [index, item] of [...items].entries()) {\n    const result = (async () => work(item, index))();\n    jobs.push(queue.Qadd(String(index), () => result));\n  }\n",
        fails: ["whatever can be iterated, within the limit"],
      },
      {
        name: "only-lists",
        text: "  for (let index = 0; index < items.length; index += 1) {\n    jobs.push(queue.Qadd(String(index), () => work(items[index], index)));\n  }\n",
        fails: ["whatever can be iterated, within the limit"],
      },
      {
        name: "numbers-as-text",
        text: "  const list = [...items];\n  for (const index in list) {\n    jobs.push(queue.Qadd(index, () => work(list[index], index)));\n  }\n",
        fails: ["numbers count from 0 whatever the limit", "numbers fit when items end in another order"],
      },
    ],
  },
  {
    id: "slow-jobs",
    kind: "default-sort",
    distance: 3,
    file: "quantile.js",
    right: "  const ordered = [...values].sort((one, other) => one - other);\n",
    broken: "  const ordered = [...values].sort();\n",
    other: "  const ordered = Float64Array.from(values).sort();\n",
    symptom:
      "The report of a queue makes no sense. After jobs that took 9, 10 and 100 milliseconds, `report()` gives a median of 100 and says that the longest job took 9. Where all jobs take between 10 and 99 milliseconds it looks right. We expect a median of 10 and a longest of 100.",
    rule: "The report and Qquantile go by the size of numbers.",
    edge: "Negative numbers and fractions are in order as well, and the list that was given stays as it was.",
    visible: `test("the report tells the median and the longest", async () => {
  let time = 0;
  const queue = new lib.QQueue({ now: () => time });
  for (const took of [9, 10, 100]) {
    await queue.Qadd("job", async () => {
      time += took;
    });
  }
  assert.deepEqual(queue.report(), { jobs: 3, median: 10, slow: 100, longest: 100 });
});
`,
    unit: `test("a report of many jobs", () => {
  const whole = wholes(random("report"));
  const given = [100_000 + whole(0, 99), 8, 90, 700, ...Array.from({ length: 7 }, () => whole(1, 10 ** whole(1, 4)))];
  const got = ask(async ({ QQueue }, times) => {
    let time = 5;
    const queue = new QQueue({ now: () => time });
    for (const took of times) {
      await queue.Qadd("job", async () => {
        await null;
        time += took;
      });
    }
    return queue.report();
  }, given);
  const ordered = [...given].sort((one, other) => one - other);
  assert.deepEqual(got, { jobs: 11, median: ordered[5], slow: ordered[9], longest: ordered[10] });
});

test("quantiles of numbers of any length", () => {
  const whole = wholes(random("lengths"));
  const lists = Array.from({ length: 4 }, () => [1000, 200, 30, 4, whole(1, 9), whole(10, 99), whole(100, 999)]);
  const got = ask(({ Qquantile }, given) => {
    return given.map((list) => [0, 0.5, 0.9, 1].map((share) => Qquantile(list, share)));
  }, lists);
  const told = lists.map((list) => {
    const ordered = [...list].sort((one, other) => one - other);
    return [ordered[0], ordered[3], ordered[6], ordered[6]];
  });
  assert.deepEqual(got, told);
});
`,
    boundary: `test("negative numbers and fractions", () => {
  const whole = wholes(random("fractions"));
  const list = [1.25, 1.5, -3, -20, 0.75, whole(2, 9) + 0.125, -whole(30, 99), whole(1, 9) * 1e21, 1e-7];
  const got = ask(({ Qquantile }, given) => {
    return given.map((_, at) => Qquantile(given, (at + 0.5) / given.length));
  }, list);
  assert.deepEqual(got, [...list].sort((one, other) => one - other));
});

test("the list stays as it was", () => {
  const whole = wholes(random("stays"));
  const list = [300, 20, 1, whole(1, 99)];
  const got = ask(({ Qquantile }, given) => {
    const before = [...given];
    const frozen = Object.freeze([...given]);
    return [Qquantile(given, 1), Qquantile(frozen, 0), Qquantile([], 0.5), given.every((one, at) => one === before[at])];
  }, list);
  assert.deepEqual(got, [300, 1, null, true]);
});
`,
    wrong: [
      {
        name: "sorts-what-was-given",
        text: "  const ordered = values.sort((one, other) => one - other);\n",
        fails: ["the list stays as it was"],
      },
      {
        name: "numbers-in-words",
        text: '  const inWords = new Intl.Collator("en", { numeric: true });\n  const ordered = [...values].sort((one, other) => inWords.compare(String(one), String(other)));\n',
        fails: ["negative numbers and fractions"],
      },
      {
        name: "says-true-or-false",
        text: "  const ordered = [...values].sort((one, other) => one > other);\n",
        fails: ["a report of many jobs", "quantiles of numbers of any length"],
      },
      {
        name: "whole-numbers",
        text: "  const ordered = [...values].sort((one, other) => Math.trunc(one) - Math.trunc(other));\n",
        fails: ["negative numbers and fractions"],
      },
    ],
  },
];
