import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandName, shippedPath } from "./command-name.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("in the clone a printed command is short, and works from there", () => {
  expect(commandName(join(ROOT, "src/cli/main.ts"), ROOT)).toBe("node_modules/.bin/node src/cli/main.ts");
  expect(shippedPath("tasks/generator/first-light", ROOT)).toBe("tasks/generator/first-light");
});

test("from any other folder a printed command still names what is there", () => {
  expect(commandName(join(ROOT, "src/cli/main.ts"), "/tmp")).toContain(process.execPath);
  expect(existsSync(shippedPath("recipes/first-light.toml", "/tmp"))).toBe(true);
});

test("a path with a space is one word of the shell", () => {
  expect(commandName("/home/it's me/main.ts", "/home/it's me")).toBe("node_modules/.bin/node main.ts");
  expect(commandName("/home/it's me/main.ts", "/home")).toBe("node_modules/.bin/node 'it'\\''s me/main.ts'");
});

test("an installed program is called by its name", () => {
  expect(commandName("/usr/lib/node_modules/sandlot/dist/src/cli/main.js", "/tmp")).toBe("sandlot");
});
