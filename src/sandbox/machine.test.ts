/** When a new machine is ready: what its first command must have said before anybody is given its sandbox. */
import { expect, test } from "vitest";
import { isFirstAnswer } from "./machine.ts";

const ended = (exitCode: number | null, startError: Parameters<typeof isFirstAnswer>[0]["startError"] = null) => ({
  exitCode,
  startError,
});

test("a sandbox in which no command can start is not given out, though others of its image have run", () => {
  expect(isFirstAnswer(ended(null, "is_directory"), true, true)).toBe(true);
  for (const startError of ["process_limit", "not_executable", "bad_cwd", "not_found", "too_long"] as const)
    expect(isFirstAnswer(ended(null, startError), true, true), startError).toBe(false);
  expect(isFirstAnswer(ended(null), true, true), "killed before its exec").toBe(false);
});

test("the first sandbox of an image has run a program, unless the image has none", () => {
  expect(isFirstAnswer(ended(0), false, true)).toBe(true);
  expect(isFirstAnswer(ended(1), false, true)).toBe(false);
  expect(isFirstAnswer(ended(null, "not_found"), false, true), "the machine's own folders").toBe(false);
  expect(isFirstAnswer(ended(null, "not_found"), false, false), "an image without programs").toBe(true);
  expect(isFirstAnswer(ended(null, "process_limit"), false, false), "an image whose agent cannot start one").toBe(
    false,
  );
});
