import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockText, type PackagePin, parseLock, pinsOf, refuseDrift } from "./package-lock.ts";
import { readRecipe, recipeFile, recipeFolders, recipeSummaries } from "./recipe.ts";
import { parseDebian } from "./source-debian.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-recipe-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function recipe(text: string): string {
  const file = join(folder, "r.toml");
  writeFileSync(file, text);
  return file;
}

const WRONG: readonly (readonly [string, string, string])[] = [
  ["no TOML", "# x\nsuite = bookworm\n", "r.toml:2: is not TOML"],
  ["no suite", 'packages = ["git"]\n', "suite must be a text"],
  [
    "a suite that is none",
    'suite = "../x"\n',
    'r.toml:1: suite must be the name of a Debian suite; write one such as "bookworm"',
  ],
  [
    "a mistyped key",
    'suite = "bookworm"\npackage = ["git"]\n',
    "r.toml:2: package is not a known key; write packages, or remove it",
  ],
  [
    "packages as a text",
    'suite = "bookworm"\npackages = "git"\n',
    "r.toml:2: packages must be a list of package names",
  ],
  [
    "a package that is an option",
    'suite = "bookworm"\n\npackages = ["git", "--allow"]\n',
    "r.toml:3: packages[1] must be a Debian package name",
  ],
  [
    "a file that is missing",
    'suite = "bookworm"\n[[files]]\nsource = "gone"\ntarget = "/etc/x"\n',
    'r.toml:3: files[0].source "gone" is no file beside the recipe',
  ],
  [
    "a target that is relative",
    'suite = "bookworm"\n[[files]]\nsource = "r.toml"\ntarget = "etc/x"\n',
    "r.toml:4: files[0].target must be an absolute path",
  ],
  [
    "a target that leads upwards",
    'suite = "bookworm"\n[[files]]\nsource = "r.toml"\ntarget = "/a/../../x"\n',
    "r.toml:4: files[0].target must be an absolute path without",
  ],
  [
    "a mode that is none",
    'suite = "bookworm"\n[[files]]\nsource = "r.toml"\ntarget = "/x"\nmode = "rw"\n',
    "r.toml:5: files[0].mode must be permission bits in octal",
  ],
  [
    "a key of a file that is unknown",
    'suite = "bookworm"\n[[files]]\nsource = "r.toml"\ntarget = "/x"\nmod = "1"\n',
    "r.toml:5: files[0].mod is not a known key; write mode",
  ],
  ["a variable that is no text", 'suite = "bookworm"\n[env]\nA = 1\n', "r.toml:3: env.A must be a text"],
  [
    "a lock that is missing",
    'suite = "bookworm"\nlock = "r.lock"\n',
    'r.toml:2: lock "r.lock" is no file beside the recipe',
  ],
  ["a relative work folder", 'suite = "bookworm"\nworkdir = "app"\n', "r.toml:2: workdir must be an absolute path"],
];

test.each(WRONG)("a recipe with %s is told with file, line, key and remedy", (_title, text, message) => {
  const file = recipe(text);
  let failure: unknown = null;
  try {
    readRecipe(file, "recipe:r");
  } catch (error) {
    failure = error;
  }
  expect(failure).toMatchObject({ code: "image_unavailable", message: expect.stringContaining(message) });
  expect(String(failure)).toContain(file);
});

test("a recipe becomes a plan, whose inputs change with each byte of the recipe and its files", () => {
  writeFileSync(join(folder, "app.conf"), "one");
  const text =
    'suite = "bookworm"\npackages = ["git"]\nrun = ["ldconfig"]\nworkdir = "/app"\nenv = { A = "1" }\n[[files]]\nsource = "app.conf"\ntarget = "/etc/app.conf"\n';
  const file = recipe(text);
  const plan = readRecipe(file, "recipe:r");
  expect(plan).toMatchObject({ suite: "bookworm", packages: ["git"], workdir: "/app", envVars: { A: "1" } });
  expect(plan.files).toEqual([{ source: join(folder, "app.conf"), target: "/etc/app.conf", mode: "0644" }]);
  expect(plan.run[0]?.place).toBe(`${file}:3: run[0]`);
  expect(plan.placeOf("git")).toBe(`${file}:2: packages[0]`);
  writeFileSync(join(folder, "app.conf"), "two");
  expect(readRecipe(file, "recipe:r").inputs).not.toBe(plan.inputs);
});

test("a recipe is found by name in the first folder that has it, and a mistyped name gets the nearest", () => {
  mkdirSync(join(folder, "own"));
  for (const name of ["own/base.toml", "mine.toml"]) writeFileSync(join(folder, name), 'suite = "bookworm"\n');
  expect(recipeFile("base", [join(folder, "own"), folder])).toBe(join(folder, "own/base.toml"));
  expect(() => recipeFile("mime", [folder])).toThrow('There is no image recipe "mime"; did you mean recipe:mine?');
  expect(() => recipeFile("../mine", [join(folder, "own")])).toThrow("There is no image recipe");
});

test("every recipe that comes with Sandlot can be read and says what it is for", () => {
  const summaries = recipeSummaries(recipeFolders().filter((path) => existsSync(join(path, "ops.toml"))));
  expect(summaries.map(({ name }) => name)).toEqual(expect.arrayContaining(["base", "c", "node", "ops", "python"]));
  for (const { name, file, description } of summaries) {
    expect(description, name).not.toMatch(/^$|toml/);
    expect(readRecipe(file, `recipe:${name}`).packages.length).toBeGreaterThan(0);
  }
});

test("a Debian reference says the same however its packages are ordered", () => {
  expect(parseDebian("bookworm+git,python3", "x").reference).toBe("debian:bookworm+git,python3");
  expect(parseDebian("bookworm+python3,git,git", "x").reference).toBe("debian:bookworm+git,python3");
  expect(parseDebian("bookworm@20260131+g++", "x")).toMatchObject({ date: "20260131", packages: ["g++"] });
});

const HASH = "a".repeat(64);
const pin = (name: string, version: string, sha256 = HASH): PackagePin => ({
  name,
  architecture: "amd64",
  version,
  sha256,
});

test("a lock is written and read back, and a damaged line is named", () => {
  const pins = [pin("git", "1:2.39-1"), pin("jq", "1.6-2")];
  expect(parseLock(lockText(pins), "x.lock")).toEqual(pins);
  expect(() => parseLock(`${lockText(pins)}jq amd64\n`, "x.lock")).toThrow(
    "x.lock:3: is no line NAME ARCHITECTURE VERSION SHA256",
  );
});

test("packages that drifted from the lock are named, each with how", () => {
  const locked = [pin("git", "1"), pin("jq", "1"), pin("curl", "1")];
  const refuse = (found: readonly PackagePin[]) => () => refuseDrift("debian:bookworm", locked, found);
  expect(refuse(locked)).not.toThrow();
  expect(refuse([pin("git", "2"), pin("jq", "1"), pin("curl", "1")])).toThrow("git is 2 now, locked is 1");
  expect(refuse([pin("git", "1"), pin("jq", "1", "b".repeat(64)), pin("curl", "1")])).toThrow(
    "jq 1 has another hash than locked",
  );
  expect(refuse([pin("git", "1"), pin("jq", "1")])).toThrow("curl 1 is not installed any more");
  expect(refuse([...locked, pin("vim", "9")])).toThrow("vim 9 is new");
});

test("versions are read from what apt says of them", () => {
  const stanza = (name: string): string =>
    `Package: ${name}\nVersion: 1:2-3\nArchitecture: amd64\nDescription: x\n Package: not-this\nSHA256: ${HASH}\n`;
  expect(pinsOf(`${stanza("b")}\n${stanza("a")}\n${stanza("b")}`)).toEqual([pin("a", "1:2-3"), pin("b", "1:2-3")]);
  expect(readFileSync(recipeFile("ops", recipeFolders()), "utf8")).toContain("postgresql");
});

test("a folder named like a recipe, and a name that is like no other, are whole sentences", () => {
  mkdirSync(join(folder, "r.toml"));
  expect(() => readRecipe(join(folder, "r.toml"), "recipe:r")).toThrow(
    /r\.toml is no recipe that can be read \(EISDIR\)/,
  );
  expect(() => recipeFile("../../x", [folder])).toThrow('There is no image recipe "../../x". Known: recipe:r.');
});
