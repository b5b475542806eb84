import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/waymark/index.js");

describe("half-a-letter", () => {
  test("as many letters as are asked for", () => {
    const whole = wholes(random("letters"));
    const title = Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? "x" : String.fromCodePoint(0x20000 + whole(0, 99)))).join("");
    const given = { title, lengths: [2, 3, 5, whole(6, 29), 30, 99] };
    const got = ask(({ slug }, { title, lengths }) => lengths.map((most) => slug(title, most)), given);
    assert.deepEqual(got, given.lengths.map((most) => [...title].slice(0, most).join("")));
  });

  test("links of all lengths", () => {
    const start = wholes(random("start"))(0, 9);
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("page", "/p");
      return [0, 1, 2, 3].map((more) => router.urlOf("page", {}, { title: "y".repeat(given + more) + "𠀁".repeat(50) }));
    }, start);
    const told = [0, 1, 2, 3].map((more) => "y".repeat(start + more) + "𠀁".repeat(40 - start - more));
    assert.deepEqual(got, told.map((text) => "/p#" + encodeURIComponent(text)));
  });
});

describe("every-second-time", () => {
  test("numbers fit however often they are asked for", () => {
    const whole = wholes(random("numbers"));
    const numbers = Array.from({ length: 12 }, () => String(whole(-999, 999)));
    const got = ask(({ Routes }, given) => {
      const router = new Routes().add("user", "/users/:id(int)").add("other", "/users/:name");
      return given.map((id) => router.find("/users/" + id));
    }, numbers);
    assert.deepEqual(got, numbers.map((id) => ({ name: "user", params: { id }, query: {} })));
  });

  test("two numbers in one path, and two routers", () => {
    const whole = wholes(random("two"));
    const pair = [String(whole(1, 999)), String(whole(1, 999))];
    const got = ask(({ Routes }, [one, other]) => {
      const first = new Routes().add("cell", "/:row(int)/:column(int)");
      const second = new Routes().add("line", "/:line(int)");
      return [first.find("/" + one + "/" + other)?.params, second.find("/" + one)?.params, second.find("/" + other)?.params];
    }, pair);
    assert.deepEqual(got, [{ row: pair[0], column: pair[1] }, { line: pair[0] }, { line: pair[1] }]);
  });
});

describe("plus-signs", () => {
  test("what is written is read again", () => {
    const whole = wholes(random("again"));
    const signs = ["+", " ", "%", "&", "=", "a", "%2B", "++"];
    const values = Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => ["n" + at, "+" + Array.from({ length: 5 }, () => signs[whole(0, 7)]).join("")]),
    );
    const got = ask(({ queryOf, formatQuery }, given) => queryOf(formatQuery(given)), values);
    assert.deepEqual(got, values);
  });

  test("coded and plain plus signs side by side", () => {
    const number = wholes(random("side"))(1, 99);
    const got = ask(({ queryOf }, given) => queryOf("a=" + given + "+%2B+1&b=%2b"), number);
    assert.deepEqual(got, { a: number + " + 1", b: "+" });
  });
});
