import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { random } from "sandlot-subject";
import { askOf, wholes } from "../support/ask.mjs";

const ask = askOf("/app/byways/index.js");

describe("every-second-time", () => {
  test("numbers fit however often they are asked for", () => {
    const whole = wholes(random("numbers"));
    const numbers = Array.from({ length: 12 }, () => String(whole(-999, 999)));
    const got = ask(({ Router }, given) => {
      const router = new Router().add("user", "/users/:id(int)").add("other", "/users/:name");
      return given.map((id) => router.match("/users/" + id));
    }, numbers);
    assert.deepEqual(got, numbers.map((id) => ({ name: "user", params: { id }, query: {} })));
  });

  test("two numbers in one path, and two routers", () => {
    const whole = wholes(random("two"));
    const pair = [String(whole(1, 999)), String(whole(1, 999))];
    const got = ask(({ Router }, [one, other]) => {
      const first = new Router().add("cell", "/:row(int)/:column(int)");
      const second = new Router().add("line", "/:line(int)");
      return [first.match("/" + one + "/" + other)?.params, second.match("/" + one)?.params, second.match("/" + other)?.params];
    }, pair);
    assert.deepEqual(got, [{ row: pair[0], column: pair[1] }, { line: pair[0] }, { line: pair[1] }]);
  });
});
