/** Task folders that are broken at random: read, or refused in one sentence that names a file; nothing else may come of it. */
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { type Random, randomFrom } from "../core/random.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { GOOD_FOLDER } from "./folder-fixture-support.ts";
import { taskOfFiles } from "./read-folder.ts";

const ROUNDS = process.env["SANDLOT_TEST_SIZE"] === "long" ? 20_000 : 1_500;
const BREAKABLE = ["task.toml", "environment/image.toml", "tests/manifest.json", "wrong/empty/expect.toml"];
/** What a hand or a program that slips may leave. */
const SCRAPS = [
  ...['"', "'", "[", "]", "[[", "=", "{", "}", ",", "\n", "\0", "\r\n", "#", "..", "/", "é", "\u{1f600}", "${", "\\"],
  ...["-1", "0", "1e309", "nan", "9007199254740993", "true", "[]", "{}", '""', "1979-05-27", "__proto__ = 1\n"],
  ...[
    "steps = [{}]\n",
    "[sandlot.judge]\n",
    "[[sandlot.tiers]]\n",
    "[environment.healthcheck]\n",
    "network_mode = 3\n",
  ],
];

test("a folder broken at random is read or refused in one sentence that names a file", () => {
  const counts = { read: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const random = randomFrom(BigInt(round)).fork("break");
    const files = filesOf(broken(GOOD_FOLDER, random));
    try {
      taskOfFiles("greet", files);
      counts.read += 1;
    } catch (error) {
      counts.refused += 1;
      if (!(error instanceof Failure)) throw new Error(`round ${round}: ${String(error)}`, { cause: error });
      expect([error.code, error.message.split("\n").length], `round ${round}: ${error.message}`).toEqual([
        "task_invalid",
        1,
      ]);
      expect(error.message, `round ${round}`).toMatch(/^greet\/[\w./-]+(?::\d+)?: .+\.$/);
    }
  }
  // Both ends are met, so that neither promise is empty.
  expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(ROUNDS / 20);
});

function broken(folder: Readonly<Record<string, string | Uint8Array>>, random: Random) {
  const path = random.pick(BREAKABLE);
  let text = String(folder[path]);
  for (let times = random.integer(1, 3); times > 0; times -= 1) {
    const from = random.integer(0, text.length);
    const to = Math.min(text.length, from + random.integer(0, 12));
    const kind = random.integer(0, 3);
    const put = kind === 0 ? "" : kind === 1 ? random.pick(SCRAPS) : text.slice(from, to);
    text = `${text.slice(0, from)}${kind === 3 ? `${put}${put}` : put}${text.slice(kind === 1 ? from : to)}`;
  }
  return { ...folder, [path]: text };
}

function filesOf(folder: Readonly<Record<string, string | Uint8Array>>): readonly FolderFile[] {
  const encoder = new TextEncoder();
  return Object.entries(folder).map(([path, body]) => ({
    path,
    bytes: typeof body === "string" ? encoder.encode(body) : body,
    isExecutable: path.endsWith(".sh"),
  }));
}
