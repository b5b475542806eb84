/** Tokenizers: nothing is lost, special ids never come from text, and what is outside is named. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { SPECIAL_TOKENS } from "../core/policy.ts";
import { bytesTokenizer, charsTokenizer, tokenizerFromJson } from "./tokenizer.ts";

const CHARACTERS = "abcdefghijklmnopqrstuvwxyz 0123456789()[]+-*/=\nλ🙂";
const KEYWORDS = ["return", "re", "reverse the", "the list", "len(", "λ🙂"];
const chars = charsTokenizer({ characters: CHARACTERS, keywords: KEYWORDS });

const charsText = fc
  .array(fc.oneof(fc.constantFrom(...Array.from(CHARACTERS)), fc.constantFrom(...KEYWORDS)))
  .map((parts) => parts.join(""));

test("text over the declared characters comes back as it was, keywords in it or not", () => {
  fc.assert(
    fc.property(charsText, (text) => {
      const ids = chars.encode(text);
      expect(chars.decode(ids)).toBe(text);
    }),
  );
});

test("any well-formed text comes back from bytes as it was", () => {
  const bytes = bytesTokenizer();
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      fc.pre(text.isWellFormed());
      expect(bytes.decode(bytes.encode(text))).toBe(text);
    }),
  );
});

test("encoding text never gives a special id, not even of a special token's name", () => {
  const bytes = bytesTokenizer();
  const angled = charsTokenizer({ characters: "<>:abcdefghijklmnopqrstuvwxyz" });
  for (const tokenizer of [bytes, angled]) {
    const specials = new Set(Object.values(tokenizer.special));
    for (const name of SPECIAL_TOKENS) {
      expect(Array.from(tokenizer.encode(name)).some((id) => specials.has(id))).toBe(false);
    }
  }
});

test("the longest keyword that fits is taken", () => {
  const ids = chars.encode("reverse the list");
  const base = Array.from(CHARACTERS).length + SPECIAL_TOKENS.length;
  expect(ids[0]).toBe(base + KEYWORDS.indexOf("reverse the"));
  expect(chars.encode("return").length).toBe(1);
  expect(chars.encode("rex")[0]).toBe(base + KEYWORDS.indexOf("re"));
});

test("special tokens come out by name, between texts", () => {
  const bytes = bytesTokenizer();
  const ids = Int32Array.of(bytes.special["<bos>"], ...bytes.encode("hé"), bytes.special["<end>"]);
  expect(bytes.decode(ids)).toBe("<bos>hé<end>");
});

test("a character outside the declared set is refused by name and position", () => {
  expect(() => chars.encode("abcÄ")).toThrow(/"Ä" at position 3/);
  expect(() => bytesTokenizer().encode("\ud800")).toThrow(/surrogate/);
});

test("an id outside the tokenizer is refused", () => {
  expect(() => chars.decode(Int32Array.of(chars.size))).toThrow(/outside this tokenizer/);
  expect(() => chars.decode(Int32Array.of(-1))).toThrow(/outside this tokenizer/);
});

test("the hash tells any two tokenizers apart and is the same for a rebuilt one", () => {
  const others = [
    bytesTokenizer(),
    charsTokenizer({ characters: CHARACTERS }),
    charsTokenizer({ characters: CHARACTERS, keywords: [...KEYWORDS].reverse() }),
    charsTokenizer({ characters: Array.from(CHARACTERS).reverse().join("") }),
  ];
  expect(new Set([chars, ...others].map((tokenizer) => tokenizer.sha256)).size).toBe(5);
  expect(tokenizerFromJson(chars.toJson()).sha256).toBe(chars.sha256);
  expect(tokenizerFromJson(bytesTokenizer().toJson()).sha256).toBe(bytesTokenizer().sha256);
});

test("declarations that cannot be reversed are refused", () => {
  expect(() => charsTokenizer({ characters: "" })).toThrow(/1 to 96/);
  expect(() => charsTokenizer({ characters: "aba" })).toThrow(/twice/);
  expect(() => charsTokenizer({ characters: "ab", keywords: ["ac"] })).toThrow(/"c"/);
  expect(() => charsTokenizer({ characters: "ab", keywords: ["ab", "ab"] })).toThrow(/twice/);
  expect(() => charsTokenizer({ characters: "ab", keywords: ["a"] })).toThrow(/2 characters/);
});
