import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { commandName, shippedPath } from "./command-name.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("in the clone a printed command is short, and works from there", () => {
  expect(commandName(join(ROOT, "src/cli/main.ts"), ROOT)).toBe("node_modules/.bin/node src/cli/main.ts");
  expect(shippedPath("tasks/generator/first-light", ROOT)).toBe("tasks/generator/first-light");
});

test("from any other folder, also one above the clone, a printed command still names what is there", () => {
  for (const folder of ["/usr/bin", dirname(ROOT)]) {
    expect(commandName(join(ROOT, "src/cli/main.ts"), folder)).toContain(process.execPath);
    expect(existsSync(resolve(folder, shippedPath("recipes/first-light.toml", folder)))).toBe(true);
  }
});

test("a path with a space is one word of the shell", () => {
  expect(commandName("/home/it's me/src/cli/main.ts", "/home/it's me")).toBe("node_modules/.bin/node src/cli/main.ts");
  expect(commandName("/home/it's me/src/cli/main.ts", "/home")).toContain(" 'it'\\''s me/src/cli/main.ts'");
});

test("an installed program is called by its name", () => {
  expect(commandName("/usr/lib/node_modules/sandlot/dist/src/cli/main.js", "/tmp")).toBe("sandlot");
});
