import { expect, test } from "vitest";
import { nearestName, tomlLine } from "./naming.ts";

test("the nearest name is offered only when it is near", () => {
  expect(nearestName("learningrate", ["learningRate", "steps"])).toBe("learningRate");
  expect(nearestName("stpes", ["batch", "steps"])).toBe("steps");
  expect(nearestName("zzzzzzzz", ["batch", "steps"])).toBeNull();
});

test("a key is found on its line, in its table, whatever stands in comments", () => {
  const text =
    '# steps = 1\nname = "x"\n\n[rl]\n# steps = 9\nsteps = 2 # steps\n[sft]\nsteps = 3\npolicy.preset = "nano"\n';
  expect(tomlLine(text, ["name"])).toBe(2);
  expect(tomlLine(text, ["rl", "steps"])).toBe(6);
  expect(tomlLine(text, ["sft", "steps"])).toBe(8);
  expect(tomlLine(text, ["sft", "policy", "preset"])).toBe(9);
  expect(tomlLine(text, ["nothing"])).toBeNull();
});

test("a number in the path picks the element of an array of tables, also for tables within it", () => {
  const text = [
    "[[tiers]]",
    'name = "unit"',
    "[tiers.more]",
    "deep = 1",
    "[[tiers]]",
    'name = "boundary"',
    "[tiers.more]",
    "deep = 2",
    "[other]",
    "list = [1, 2]",
  ].join("\n");
  expect(tomlLine(text, ["tiers", 0, "name"])).toBe(2);
  expect(tomlLine(text, ["tiers", 1, "name"])).toBe(6);
  expect(tomlLine(text, ["tiers", 1, "more", "deep"])).toBe(8);
  expect(tomlLine(text, ["tiers", 1])).toBe(5);
  expect(tomlLine(text, ["tiers", 1, "absent"])).toBe(5);
  expect(tomlLine(text, ["tiers", 7, "name"])).toBeNull();
  expect(tomlLine(text, ["other", "list", 1])).toBe(10);
});
