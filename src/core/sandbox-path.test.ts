import { expect, test } from "vitest";
import { isBelow } from "./sandbox-path.ts";

test.each([
  ["/app", "/app", true],
  ["/app/a/b", "/app", true],
  ["/app/a", "/app//", true],
  ["/app", "/app/", true],
  ["/anything", "/", true],
  ["/", "/", true],
  ["/application", "/app", false],
  ["/ap", "/app", false],
  ["/", "/app", false],
])("%s is the folder %s or below it: %s", (path, folder, isIt) => {
  expect(isBelow(path, folder)).toBe(isIt);
});
