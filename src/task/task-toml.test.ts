import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { GOOD_FOLDER, withFolder } from "./folder-fixture-support.ts";
import { readTaskFolder } from "./read-folder.ts";

const GOOD = String(GOOD_FOLDER["task.toml"]);

/** Any value TOML can hold, and the odd ones a hand leaves behind. */
const value = fc.oneof(
  fc.string().map((text) => JSON.stringify(text)),
  fc.integer().map(String),
  fc.double().map((number) => (Number.isFinite(number) ? String(number) : "nan")),
  fc.constantFrom(
    "true",
    "[]",
    "{}",
    "[[]]",
    "[{ a = 1 }]",
    "1979-05-27",
    "inf",
    "-0",
    "99999999999999999999",
    '"../.."',
  ),
);

/** The good text with one line changed, doubled, moved or cut, or one value replaced. */
const damaged = fc.oneof(
  fc.tuple(fc.nat(), value).map(([at, text]) => {
    const lines = GOOD.split("\n");
    const index = at % lines.length;
    return lines.map((line, number) => (number === index ? line.replace(/=.*/, `= ${text}`) : line)).join("\n");
  }),
  fc.tuple(fc.nat(), fc.string()).map(([at, text]) => {
    const index = at % GOOD.length;
    return GOOD.slice(0, index) + text + GOOD.slice(index);
  }),
  fc.tuple(fc.nat(), fc.nat(60)).map(([at, count]) => {
    const index = at % GOOD.length;
    return GOOD.slice(0, index) + GOOD.slice(index + count);
  }),
  fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => {
    const lines = GOOD.split("\n");
    const [line] = lines.splice(a % lines.length, 1);
    lines.splice(b % lines.length, 0, line ?? "");
    return lines.join("\n");
  }),
  fc.string({ unit: "binary", maxLength: 200 }),
);

const OTHERS = ["environment/image.toml", "tests/manifest.json", "wrong/empty/expect.toml", "tests/unit/test_out.py"];

test.each(OTHERS)(
  "whatever stands in %s, the reader gives a task or one sentence that names the file",
  async (file) => {
    const good = String(GOOD_FOLDER[file]);
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 100 }),
      fc.tuple(fc.nat(), fc.nat(40), fc.string({ maxLength: 8 })).map(([at, count, piece]) => {
        const index = at % good.length;
        return good.slice(0, index) + piece + good.slice(index + count);
      }),
    );
    await withFolder({}, async (folder) => {
      await fc.assert(
        fc.asyncProperty(text, async (body) => {
          await writeFile(`${folder}/${file}`, body);
          const result = await readTaskFolder(folder).catch((error: unknown) => error);
          if (!(result instanceof Error)) return;
          expect(result).toMatchObject({ code: "task_invalid" });
          expect(result.message).toContain(folder);
          expect(result.message).not.toContain("\n");
        }),
        { numRuns: 60 },
      );
    });
  },
);

test("whatever stands in task.toml, the reader gives a task or one sentence that names the file, never a crash", async () => {
  await withFolder({}, async (folder) => {
    await fc.assert(
      fc.asyncProperty(damaged, async (text) => {
        await writeFile(`${folder}/task.toml`, text);
        const result = await readTaskFolder(folder).catch((error: unknown) => error);
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(Failure);
          expect((result as Failure).code).toBe("task_invalid");
          expect(result.message).toContain(folder);
          expect(result.message).not.toContain("\n");
        } else {
          expect(result).toHaveProperty("key");
        }
      }),
      { numRuns: 300 },
    );
  });
});
