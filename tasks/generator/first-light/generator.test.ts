import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MatchCase, Task } from "../../../src/core/task.ts";
import { charsTokenizer } from "../../../src/policy/tokenizer.ts";
import { generator } from "./generator.ts";

const CONTEXT_TOKENS = 96;
const ANSWER_TOKENS = 40;
/** What a renderer puts around a prompt and an answer, with room. */
const FRAME_TOKENS = 4;

test("equal seeds give equal bytes, other seeds other tasks", () => {
  for (const split of generator.splits) {
    const first = bytesOf(generator.generate({ split, index: 3, seed: 11n }));
    expect(bytesOf(generator.generate({ split, index: 3, seed: 11n }))).toBe(first);
    expect(bytesOf(generator.generate({ split, index: 4, seed: 11n }))).not.toBe(first);
    expect(bytesOf(generator.generate({ split, index: 3, seed: 12n }))).not.toBe(first);
  }
});

test("a version of the generator always makes the same tasks: changed bytes need a new version", () => {
  const made = generator.splits.map((split) => {
    const task = generator.generate({ split, index: 0, seed: 1n });
    return `${generator.version} ${split}: ${task.instruction} => ${task.oracle.answer}`;
  });
  expect(made).toMatchInlineSnapshot(`
    [
      "1 train: Write a Python expression over the number x: add 9, list its digits, keep the odd numbers => [i for i in [int(i) for i in str(abs((x+9)))] if i%2==1]",
      "1 held-out: Write a Python expression over the number x: multiply by 5, take the absolute value, divide by 9 rounding down => (abs((x*5))//9)",
      "1 held-out-hard: Write a Python expression over the list x: negate each, keep the odd numbers, sort => sorted([i for i in [-i for i in x] if i%2==1])",
    ]
  `);
});

test("no two splits share a composition, over thousands of tasks", () => {
  const seen = new Map<string, string>();
  const distinct = new Set<string>();
  for (const split of generator.splits) {
    for (let index = 0; index < 250; index += 1) {
      const { instruction } = generator.generate({ split, index, seed: 5n });
      distinct.add(instruction);
      const composition = instruction.replaceAll(/(above|below|by|first|last|add|it|every) \S+/g, "$1");
      expect(seen.get(composition) ?? split).toBe(split);
      seen.set(composition, split);
    }
  }
  expect(distinct.size).toBeGreaterThan(600);
});

test("demonstrations are of the train split alone", () => {
  const heldOut = new Set(
    ["held-out", "held-out-hard"].flatMap((split) =>
      Array.from({ length: 200 }, (_, index) => generator.generate({ split, index, seed: 5n }).instruction),
    ),
  );
  const shown = demonstrations(500, 0.6);
  expect(shown.filter((demonstration) => heldOut.has(demonstration.instruction))).toEqual([]);
});

test("a demonstrator's mistakes are systematic, and there are about as many as asked for", () => {
  const clean = new Map(demonstrations(500, 0).map(({ instruction, answer }) => [instruction, answer]));
  const careless = demonstrations(500, 0.6);
  const wrong = careless.filter(({ instruction, answer }) => clean.get(instruction) !== answer).length;
  expect(wrong).toBeGreaterThan(200);
  expect(wrong).toBeLessThan(350);
  const answers = Map.groupBy(careless, ({ instruction }) => instruction);
  for (const same of answers.values()) expect(new Set(same.map(({ answer }) => answer)).size).toBe(1);
});

test("a hidden input never repeats a name, all tiers have tests, and another grading seed gives others", () => {
  for (const task of sample(20)) {
    const cases = casesOf(task, 1n);
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    expect(new Set(cases.map(({ tier }) => tier))).toEqual(new Set(task.verifier.tiers.map(({ name }) => name)));
    expect(casesOf(task, 1n)).toEqual(cases);
    expect(casesOf(task, 2n)).not.toEqual(cases);
  }
});

test("real Python agrees: oracle and alternative pass every hidden input, every wrong solution fails one", () => {
  const tasks = sample(70);
  const jobs = tasks.flatMap((task, index) => {
    const cases = casesOf(task, BigInt(index));
    return [task.oracle, ...task.alternatives, ...task.wrong.map(({ script }) => script)].map((script) => ({
      task,
      cases,
      name: script.name,
      code: script.answer ?? "",
    }));
  });
  const results = runPython(jobs.map(({ code, cases }) => ({ code, inputs: cases.map(({ args }) => args[0]) })));
  for (const [index, { task, cases, name, code }] of jobs.entries()) {
    const answers = results[index] ?? [];
    const failed = cases.filter((hidden, at) => answers[at] !== JSON.stringify(hidden.expected));
    const isRight = name === "oracle" || name === "alternative";
    const earned = rewardOf(task, cases, failed);
    const about = `${name} of "${task.instruction}": ${code}`;
    if (isRight) expect(failed, about).toEqual([]);
    else expect(failed.length, about).toBeGreaterThan(0);
    if (isRight) expect(earned, about).toBe(1);
    const stated = task.wrong.find(({ script }) => script.name === name);
    if (stated === undefined) continue;
    expect(earned, about).toBeLessThanOrEqual(stated.rewardMax + 1e-12);
    if (stated.failsTier !== null)
      expect(
        failed.map(({ tier }) => tier),
        about,
      ).toContain(stated.failsTier);
  }
});

test("every task has at least five wrong solutions, and one is wrong at an edge alone", () => {
  for (const task of sample(100)) {
    expect(task.wrong.length).toBeGreaterThanOrEqual(5);
    expect(task.wrong.every(({ rewardMax }) => rewardMax < 1)).toBe(true);
    expect(task.wrong.map(({ script }) => script.name)).toContain("wrong-when-empty");
  }
});

test("instruction and answer fit a small model's context", () => {
  const texts = sample(100).map((task) => [task.instruction, task.oracle.answer ?? ""] as const);
  const shown = demonstrations(500, 1).map(({ instruction, answer }) => [instruction, answer] as const);
  const { alphabet } = generator;
  if (alphabet === null) throw new Error("the family declares its alphabet");
  const tokenizer = charsTokenizer(alphabet);
  const tokensIn = (text: string) => tokenizer.encode(text).length;
  for (const [instruction, answer] of [...texts, ...shown]) {
    expect(tokensIn(answer) + 1, answer).toBeLessThanOrEqual(ANSWER_TOKENS);
    expect(tokensIn(instruction) + tokensIn(answer) + FRAME_TOKENS).toBeLessThanOrEqual(CONTEXT_TOKENS);
  }
});

test("the steps dial sets the number of steps; what a split does not have is refused by name", () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.constantFrom(1, 2, 3), (index, steps) => {
      const { instruction } = generator.generate({ split: "train", index, seed: 1n, dials: { steps } });
      expect(instruction.split(": ")[1]?.split(", ")).toHaveLength(steps);
    }),
    { numRuns: 30 },
  );
  const generate = (split: string, dials: Record<string, number>) => () =>
    generator.generate({ split, index: 0, seed: 1n, dials });
  expect(generate("train", { steps: 4 })).toThrow(/1 to 3 steps/);
  expect(generate("train", { depth: 1 })).toThrow(/no dial "depth"/);
  expect(generate("test", {})).toThrow(/no split "test"/);
});

function sample(count: number): Task[] {
  return generator.splits.flatMap((split) =>
    Array.from({ length: count }, (_, index) => generator.generate({ split, index, seed: 7n })),
  );
}

function demonstrations(count: number, noise: number) {
  return generator.demonstrations?.({ count, seed: 3n, noise }) ?? [];
}

function casesOf(task: Task, gradingSeed: bigint): readonly MatchCase[] {
  if (task.verifier.kind !== "match") throw new Error("first-light tasks are graded by match");
  return task.verifier.cases(gradingSeed);
}

function bytesOf(task: Task): string {
  return JSON.stringify([task, casesOf(task, 1n)]);
}

/** The tier formula of the reward document, without gates. */
function rewardOf(task: Task, cases: readonly MatchCase[], failed: readonly MatchCase[]): number {
  const weights = task.verifier.tiers.reduce((sum, tier) => sum + tier.weight, 0);
  const earned = task.verifier.tiers.reduce((sum, tier) => {
    const all = cases.filter((hidden) => hidden.tier === tier.name).length;
    const missed = failed.filter((hidden) => hidden.tier === tier.name).length;
    return sum + (tier.weight * (all - missed)) / all;
  }, 0);
  return earned / weights;
}

/** Answers as compact JSON, null where Python raises; the system's own Python, once for all. */
function runPython(jobs: readonly { code: string; inputs: readonly unknown[] }[]): (string | null)[][] {
  const program = [
    "import json, sys",
    "def answer(code, value):",
    "    try: return json.dumps(eval(code, {'x': value}), separators=(',', ':'))",
    "    except Exception: return None",
    "print(json.dumps([[answer(job['code'], value) for value in job['inputs']] for job in json.load(sys.stdin)]))",
  ].join("\n");
  const { stdout, stderr, status } = spawnSync("/usr/bin/python3", ["-c", program], {
    input: JSON.stringify(jobs),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as (string | null)[][];
}
