import fc from "fast-check";
import { expect, test } from "vitest";
import { type RewardFile, rewardValues } from "./reward-values.ts";

const RULE = { script: "tests/unit/test.sh", isMean: false };

function text(content: string): RewardFile {
  return { text: content };
}

function read(txt: string | null, json: string | null, isMean = false) {
  const file = (content: string | null): RewardFile => (content === null ? null : text(content));
  return rewardValues({ "reward.txt": file(txt), "reward.json": file(json) }, { ...RULE, isMean });
}

test.each([
  ["0.5\n", null, 0.5, { reward: 0.5 }],
  [" 1 ", null, 1, { reward: 1 }],
  ["1e-3", null, 0.001, { reward: 0.001 }],
  [null, '{"reward": 0.25, "speed": 3}', 0.25, { reward: 0.25, speed: 3 }],
  [null, '{"accuracy": 0.75}', 0.75, { accuracy: 0.75 }],
  ["0.3", '{"reward": 0.3000000000001}', 0.3000000000001, { reward: 0.3000000000001 }],
])("%j and %j are read as the reward %d", (txt, json, total, values) => {
  expect(read(txt, json)).toEqual({ total, values });
});

test("a reward outside of [0, 1] is kept as written and counts clamped", () => {
  expect(read("-2", null)).toEqual({ total: 0, values: { reward: -2 } });
  expect(read(null, '{"reward": 7}')).toEqual({ total: 1, values: { reward: 7 } });
});

test("no reward file is a fault, never 0", () => {
  expect(() => read(null, null)).toThrow(expect.objectContaining({ code: "reward_absent" }));
});

test("two files that disagree are a fault", () => {
  const graded = () => read("1", '{"reward": 0}');
  expect(graded).toThrow(
    expect.objectContaining({ code: "reward_disagreement", message: expect.stringContaining(RULE.script) }),
  );
});

test("several keys without a reward are their mean only where the tier says so", () => {
  const keys = '{"a": 1, "b": 0.5}';
  expect(() => read(null, keys)).toThrow(expect.objectContaining({ code: "reward_ambiguous" }));
  expect(read(null, keys, true)).toEqual({ total: 0.75, values: { a: 1, b: 0.5 } });
});

const keys65 = JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, 0])));

test.each([
  ["", null],
  ["nan", null],
  ["NaN", null],
  ["inf", null],
  ["-Infinity", null],
  ["1e999", null],
  ["0x1", null],
  ["1 1", null],
  ["1\n0", null],
  ["passed", null],
  ["１", null],
  [null, "1"],
  [null, "[1]"],
  [null, "null"],
  [null, "{}"],
  [null, '{"reward": NaN}'],
  [null, '{"reward": 1e999}'],
  [null, '{"reward": "1"}'],
  [null, '{"reward": true}'],
  [null, '{"reward": null}'],
  [null, '{"reward": {"value": 1}}'],
  [null, '{"reward": 1'],
  [null, `{"reward": ${"[".repeat(30_000)}${"]".repeat(30_000)}}`],
  [null, keys65],
  [null, `{"${"k".repeat(129)}": 1}`],
  ["1", '{"reward": "1"}'],
])("%j and %j are no reward but a fault", (txt, json) => {
  expect(() => read(txt, json)).toThrow(expect.objectContaining({ code: "reward_invalid" }));
});

test("a file that could not be taken is a fault even beside one that could", () => {
  const files = { "reward.txt": { refused: "is no regular file" }, "reward.json": text('{"reward": 1}') };
  expect(() => rewardValues(files, RULE)).toThrow(expect.objectContaining({ code: "reward_unreadable" }));
});

test("whatever bytes the files hold, the reward is in [0, 1] or a fault of the verifier", () => {
  const content = fc.option(fc.oneof(fc.string(), fc.json(), fc.double().map(String)), { nil: null });
  fc.assert(
    fc.property(content, content, fc.boolean(), (txt, json, isMean) => {
      try {
        const { total } = read(txt, json, isMean);
        expect(total >= 0 && total <= 1).toBe(true);
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^reward_/) });
      }
    }),
  );
});
