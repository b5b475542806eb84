import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLine, printable, printableLine } from "./escape.ts";

test("a control sequence in a policy's text cannot reach the terminal", () => {
  expect(printable("\u001b[2Jgone\u0007")).toBe("\\x1b[2Jgone\\x07");
  expect(printable("\u009b31mred")).toBe("\\x9b31mred");
  expect(printable("a\rb")).toBe("a\\x0db");
});

test("marks that reorder or hide text are spelled out", () => {
  expect(printable("safe\u202egpj.exe")).toBe("safe\\u{202e}gpj.exe");
  expect(printable("a\u200bb\ufeffc\u{e0041}d")).toBe("a\\u{200b}b\\u{feff}c\\u{e0041}d");
});

test("ordinary text of any language is left as it is", () => {
  const text = "naïve Ω 中文 🙂 \t tab\nline";
  expect(printable(text)).toBe(text);
  expect(printableLine(text)).toBe("naïve Ω 中文 🙂 \\t tab\\nline");
});

test("whatever comes in, no control character but newline and tab comes out", () => {
  const anyText = fc.string({ unit: "binary", maxLength: 200 });
  fc.assert(
    fc.property(anyText, (text) => {
      const codes = [...printable(text)].map((character) => character.codePointAt(0) ?? 0);
      const unsafe = codes.filter((code) => (code < 32 && code !== 9 && code !== 10) || (code > 126 && code < 160));
      expect(unsafe).toEqual([]);
      expect(printableLine(text)).not.toMatch(/[\n\t]/);
    }),
  );
});

test("JSON says the same to a program and gives a terminal nothing to obey", () => {
  const value = { text: "a\u009b31m\u001b[2J\u202e\u{e0041}\u007f\n\ud800é", "k\u009d": [1, null] };
  const text = jsonLine(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).toMatch(/^[ -~é]+$/);
});
