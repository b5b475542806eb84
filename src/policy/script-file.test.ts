import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readScriptFile } from "./script-file.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-script-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function written(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

test("a shell script is one command, whole", async () => {
  const path = await written("plant.sh", "#!/bin/bash\ncat <<X\n1\nX\n");
  expect(await readScriptFile(path)).toEqual({
    ...{ name: "plant.sh", answer: null, files: [], commands: ["#!/bin/bash\ncat <<X\n1\nX\n"] },
  });
});

test("a JSON file names commands, files and an answer", async () => {
  const files = [{ path: "/opt/x", text: "é" }];
  const path = await written("plan.json", JSON.stringify({ commands: ["ls", "pwd"], answer: "42", files }));
  expect(await readScriptFile(path)).toEqual({
    ...{ name: "plan.json", answer: "42", commands: ["ls", "pwd"] },
    files: [{ path: "/opt/x", bytes: Buffer.from("é"), mode: 0o644 }],
  });
});

test.each<[string, string, string, RegExp]>([
  ["text that is no JSON", "a.json", "{", /a\.json cannot be used/],
  ["a key that there is not", "b.json", '{"command": "ls"}', /b\.json cannot be used.*[\s\S]*command/],
  ["a file at a relative path", "c.json", '{"files": [{"path": "x", "text": ""}]}', /c\.json/],
  ["more than a mebibyte", "d.sh", "x".repeat(2 ** 20 + 1), /1048577 bytes/],
])("%s is refused by file and reason", async (_title, name, text, message) => {
  const path = await written(name, text);
  await expect(readScriptFile(path)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(message),
  });
});

test("a file that is not there, and no name at all, are refused", async () => {
  await expect(readScriptFile(join(folder, "none.sh"))).rejects.toThrow(/no such file/);
  await expect(readScriptFile("")).rejects.toThrow(/names no file/);
});

test("a pipe that nobody writes and a device are refused, and nothing waits for them", async () => {
  const pipe = join(folder, "pipe.sh");
  execFileSync("mkfifo", [pipe]);
  for (const path of [pipe, "/dev/zero", folder]) {
    const failure = await readScriptFile(path).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "config_invalid", message: expect.stringMatching(/it is no regular file/) });
  }
});
