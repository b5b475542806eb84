import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { loadRecipe, parseRecipe, printRecipe } from "./load-recipe.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-recipe-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function messageOf(text: string, overrides: readonly string[] = [], envVars = {}): string {
  try {
    parseRecipe(text, "r.toml", overrides, envVars);
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    expect((error as Failure).code).toBe("config_invalid");
    return (error as Failure).message;
  }
  throw new Error("the recipe was accepted");
}

test("an empty recipe is valid, and every value has an origin", () => {
  const { recipe, origins } = parseRecipe("", "r.toml", [], {});
  expect(recipe.rl.groupSize).toBe(8);
  expect(new Set(origins.values())).toEqual(new Set(["default"]));
});

test("an unknown key names file, line, key and the nearest key", () => {
  expect(messageOf('name = "x"\n\n[rl]\nstpes = 3\n')).toBe('r.toml:4: unknown key "rl.stpes". Did you mean "steps"?');
});

test("an unknown table names file, line and the nearest table", () => {
  expect(messageOf("seed = 2\n[sftt]\nsteps = 3\n")).toMatch(/^r\.toml:\d: unknown key "sftt"\. Did you mean "sft"\?$/);
});

test("an unknown key far from all others lists the known ones", () => {
  expect(messageOf("[sandbox]\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq = 1\n")).toContain("Known keys: provider,");
});

test("a wrong type names file, line, key and the value", () => {
  const message = messageOf('[rl]\nsteps = 3\ngroupSize = "eight"\n');
  expect(message).toContain('r.toml:3: "rl.groupSize" is "eight":');
});

test("a value out of range names its bound", () => {
  const message = messageOf("[rl]\ngroupSize = 1\n");
  expect(message).toContain('r.toml:2: "rl.groupSize" is 1:');
  expect(message).toContain("2");
});

test("every mistake is told at once, one line each", () => {
  expect(messageOf("[rl]\nstpes = 3\ngroupSize = 1\n").split("\n")).toHaveLength(2);
});

test("text that is no TOML names file and line", () => {
  expect(messageOf("seed = 1\nname = \n")).toMatch(/^r\.toml:2: not valid TOML/);
});

test("--set wins over the environment, which wins over the file, and each says so", () => {
  const text = "seed = 1\n[rl]\nsteps = 1\ngroupSize = 2\n";
  const envVars = { SANDLOT_RL_STEPS: "2", SANDLOT_RL_GROUP_SIZE: "4" };
  const { recipe, origins } = parseRecipe(text, "r.toml", ["rl.steps=3"], envVars);
  expect([recipe.rl.steps, recipe.rl.groupSize, recipe.seed]).toEqual([3, 4, 1]);
  expect([origins.get("rl.steps"), origins.get("rl.groupSize"), origins.get("seed")]).toEqual([
    "--set",
    "SANDLOT_RL_GROUP_SIZE",
    "r.toml:1",
  ]);
});

test("a bad --set names itself, the key and the nearest key", () => {
  expect(messageOf("", ["rl.stpes=3"])).toBe('--set: unknown key "rl.stpes". Did you mean "steps"?');
  expect(messageOf("", ["rl.steps"])).toContain("--set rl.steps has no value");
  expect(messageOf("", ["rl.steps=many"])).toContain('--set: "rl.steps" is "many":');
  expect(messageOf("", ["rl=3"])).toContain('--set: "rl" is 3:');
});

test("a key that names an object's own machinery is refused like any unknown key", () => {
  expect(messageOf("", ["__proto__.polluted=1"])).toContain("unknown key");
  expect(messageOf("", ["constructor.prototype.polluted=1"])).toContain("unknown key");
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test("a text value may be given without quotes, and keeps quotes when they are given", () => {
  expect(parseRecipe("", "r.toml", ["name=quick"], {}).recipe.name).toBe("quick");
  expect(parseRecipe("", "r.toml", ['name="quick"'], {}).recipe.name).toBe("quick");
});

test("a recipe that cannot be read names the file and what to name instead", async () => {
  await expect(loadRecipe(join(folder, "none.toml"), [], {})).rejects.toThrow(/Cannot read the recipe .*none\.toml/);
});

test("paths of a recipe start from its own folder", async () => {
  await writeFile(join(folder, "r.toml"), 'name = "x"\n');
  expect((await loadRecipe(join(folder, "r.toml"), [], {})).folder).toBe(folder);
});

test("printing shows each value once with its origin", () => {
  const loaded = parseRecipe("[rl]\nsteps = 7\n", "r.toml", ["seed=5"], {});
  const lines = printRecipe(loaded).split("\n");
  expect(lines).toHaveLength(loaded.origins.size);
  expect(lines.find((line) => line.startsWith("rl.steps "))).toMatch(/^rl\.steps = 7 +# r\.toml:2$/);
  expect(lines.find((line) => line.startsWith("seed "))).toMatch(/^seed = 5 +# --set$/);
});

test.each(["ftp://a/v1", "http://ann:secret@a/v1", "https://a/v1?key=secret", "a:80"])(
  "the address of a judge is stored with its run, so %s is refused",
  (endpoint) => {
    expect(messageOf(`[judge]\nendpoint = "${endpoint}"\n`)).toContain("without user, password or query");
  },
);

test("the key of a judge is named by its variable, and a key in its place is refused", () => {
  expect(messageOf('[judge]\nkeyVariable = "sk-0123"\n')).toContain("not the key itself");
});
