import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/byways/index.js");

describe("every-second-time", () => {
  test("words fit each time, in all languages", () => {
    const word = "w-" + wholes(random("words"))(1, 99);
    const got = ask(({ Router }, given) => {
      const router = new Router().add("tag", "/:tag(word)");
      return given.map((tag) => router.match("/" + encodeURIComponent(tag))?.params.tag ?? null);
    }, [word, word, "äö", "日本", "a_b", "a_b", "٤٥"]);
    assert.deepEqual(got, [word, word, "äö", "日本", "a_b", "a_b", "٤٥"]);
  });

  test("only a whole segment fits", () => {
    const number = String(wholes(random("whole"))(10, 99));
    const got = ask(({ Router }, given) => {
      const router = new Router().add("int", "/i/:id(int)").add("word", "/w/:id(word)");
      const ints = [given + "a", "x" + given, "--" + given, given + "-", "%0A" + given, given + "%0A", "-", "٤"];
      const words = ["a b", "a.", "%0Aa", "a%2Fb"];
      return [...ints.map((id) => router.match("/i/" + id)), ...words.map((id) => router.match("/w/" + id))];
    }, number);
    assert.deepEqual(got, Array.from({ length: 12 }, () => null));
  });
});
