import { expect, test } from "vitest";
import { pointed } from "./json-pointer.ts";

const DOCUMENT = { "": 1, a: [{ "b/c~": 2 }, null], length: 3 };

test.each([
  ["", DOCUMENT],
  ["/", 1],
  ["/a/0/b~1c~0", 2],
  ["/a/1", null],
  ["/length", 3],
])("the pointer %j names its value", (pointer, value) => {
  expect(pointed(DOCUMENT, pointer)).toEqual(value);
});

test.each(["/b", "/a/2", "/a/01", "/a/-", "/a/length", "/a/1/x", "/length/x", "/toString", "/__proto__"])(
  "the pointer %j names nothing that the document does not hold itself",
  (pointer) => {
    expect(pointed(DOCUMENT, pointer)).toBe(undefined);
  },
);
