import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/waymark/index.js");

describe("half-a-letter", () => {
  test("a mark is a character of its own", () => {
    const most = wholes(random("marks"))(2, 7);
    const got = ask(({ slug }, given) => [slug("é".repeat(9), given), slug("किकि", 3)], most);
    assert.deepEqual(got, ["é".repeat(9).slice(0, most), "किक"]);
  });

  test("no dash at the end, none at the start, and nothing at all", () => {
    const letter = String.fromCodePoint(0x20000 + wholes(random("dash"))(0, 99));
    const got = ask(({ slug }, given) => {
      return [slug(given + " " + given, 2), slug("😀 " + given, 1), slug(given + "x", 0), slug("😀"), slug("A" + given + "!", 2)];
    }, letter);
    assert.deepEqual(got, [letter, letter, "", "", "a" + letter]);
  });
});

describe("every-second-time", () => {
  test("words fit each time, in all languages", () => {
    const word = "w-" + wholes(random("words"))(1, 99);
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("tag", "/:tag(word)");
      return given.map((tag) => router.find("/" + encodeURIComponent(tag))?.params.tag ?? null);
    }, [word, word, "äö", "日本", "a_b", "a_b", "٤٥"]);
    assert.deepEqual(got, [word, word, "äö", "日本", "a_b", "a_b", "٤٥"]);
  });

  test("only a whole segment fits", () => {
    const number = String(wholes(random("whole"))(10, 99));
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("int", "/i/:id(int)").add("word", "/w/:id(word)");
      const ints = [given + "a", "x" + given, "--" + given, given + "-", "%0A" + given, given + "%0A", "-", "٤"];
      const words = ["a b", "a.", "%0Aa", "a%2Fb"];
      return [...ints.map((id) => router.find("/i/" + id)), ...words.map((id) => router.find("/w/" + id))];
    }, number);
    assert.deepEqual(got, Array.from({ length: 12 }, () => null));
  });
});

describe("plus-signs", () => {
  test("every plain plus is a space, in names too", () => {
    const word = "w" + wholes(random("names"))(1, 99);
    const got = ask(({ queryOf }, given) => queryOf("a+b+" + given + "=c++d+&1%2B1=+"), word);
    assert.deepEqual(got, { ["a b " + word]: "c  d ", "1+1": " " });
  });

  test("what cannot be decoded stays as it was written", () => {
    const number = wholes(random("stays"))(1, 9);
    const got = ask(({ queryOf }, given) => queryOf("a=100%&b=%zz+" + given + "&%=%E4+x&c=%2525"), number);
    assert.deepEqual(got, { a: "100%", b: "%zz+" + number, "%": "%E4+x", c: "%25" });
  });
});
