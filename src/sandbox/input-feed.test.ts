/** Input of a command: never too far ahead, in order, and nobody waits for a command that is gone. */
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { InputFeed } from "./input-feed.ts";

const WINDOW = 262_144;

function feed() {
  const sent: Uint8Array[] = [];
  const one = new InputFeed((bytes) => sent.push(bytes));
  return { one, sent, bytes: () => sent.reduce((sum, each) => sum + each.length, 0) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("no more than the window is sent ahead of what the command has read", async () => {
  const { one, sent, bytes } = feed();
  let isWritten = false;
  const writing = one.write(new Uint8Array(WINDOW + 10)).then(() => (isWritten = true));
  await turn();
  expect([bytes(), isWritten]).toEqual([WINDOW, false]);
  one.credit(4);
  await turn();
  expect([bytes(), isWritten]).toEqual([WINDOW + 4, false]);
  one.credit(6);
  await writing;
  expect(bytes()).toBe(WINDOW + 10);
  expect(Math.max(...sent.map((each) => each.length))).toBeLessThanOrEqual(65_536);
});

test("writes keep their order, and the end comes once, after them", async () => {
  const { one, sent } = feed();
  void one.write(Buffer.from("a"));
  void one.write(Buffer.from("b"));
  one.end();
  one.end();
  expect(one.isEnded).toBe(true);
  await turn();
  expect(sent.map((each) => Buffer.from(each).toString())).toEqual(["a", "b", ""]);
});

test("an input that throws ends the command's input", async () => {
  const { one, sent } = feed();
  async function* broken(): AsyncIterable<Uint8Array> {
    yield Buffer.from("a");
    throw new Error("no more");
  }
  await one.pump(broken());
  await turn();
  expect(sent.map((each) => each.length)).toEqual([1, 0]);
});

test("a write to a command that ended settles, and to a lost sandbox throws what ended it", async () => {
  for (const failure of [null, new Failure("sandbox_lost", "gone")]) {
    const { one, bytes } = feed();
    const writing = one.write(new Uint8Array(2 * WINDOW));
    await turn();
    one.stop(failure);
    if (failure === null) await writing;
    else await expect(writing).rejects.toBe(failure);
    one.end();
    await turn();
    expect(bytes()).toBe(WINDOW);
  }
});
