/** The stream of a tree: exact whatever its pieces, and never a path out of its folder. */
import { posix } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CHUNK_END,
  encodeEntry,
  isPathBelow,
  RECORD_END,
  TreeDecoder,
  type TreeEvent,
} from "./sandbox-files-records.ts";

const name = fc.stringMatching(/^[a-z.]{1,8}$/).filter((text) => text !== "." && text !== "..");
const entry = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/")),
  mode: fc.nat({ max: 0o777 }),
  content: fc.option(fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { maxLength: 3 })),
});

test("what was encoded is decoded, wherever the stream is cut", () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 8 }), fc.array(fc.nat({ max: 30 })), (entries, cuts) => {
      const parts: Buffer[] = [];
      for (const { path, mode, content } of entries) {
        parts.push(encodeEntry(content === null ? "folder" : "file", Buffer.from(path), mode));
        for (const chunk of content ?? []) parts.push(Buffer.from([chunk.length, 0, 0, 0]), Buffer.from(chunk));
        if (content !== null) parts.push(CHUNK_END);
      }
      let rest = Buffer.concat([...parts, RECORD_END]);
      const decoder = new TreeDecoder();
      const seen: string[] = [];
      const take = (bytes: Buffer): void => {
        for (const event of decoder.take(bytes)) seen.push(told(event));
      };
      for (const cut of cuts) {
        take(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      take(rest);
      const wanted = entries.map(({ path, mode, content }) =>
        content === null
          ? `folder ${path} ${mode}|`
          : `file ${path} ${mode}|${Buffer.concat(content).toString("hex")}file-end|`,
      );
      expect(seen.join("")).toBe(`${wanted.join("")}end|`);
    }),
  );
});

function told(event: TreeEvent): string {
  if (event.kind === "content") return event.bytes.toString("hex");
  return "path" in event ? `${event.kind} ${event.path} ${event.mode}|` : `${event.kind}|`;
}

test("a path is taken only when it stays below its folder", () => {
  for (const path of ["a", "a/b", "...", "a/..b", ".git/x", "\\", "é"])
    expect(isPathBelow(Buffer.from(path)), path).toBe(true);
  for (const path of ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\0b", "x".repeat(256)])
    expect(isPathBelow(Buffer.from(path)), path).toBe(false);
  fc.assert(
    fc.property(fc.string(), (path) => {
      if (isPathBelow(Buffer.from(path))) expect(posix.normalize(`/top/${path}`)).toBe(`/top/${path}`);
    }),
  );
});

test("what no agent sends is refused, and never waited for", () => {
  const refuse = (bytes: Uint8Array): void => {
    expect(() => [...new TreeDecoder().take(bytes)]).toThrow(RangeError);
  };
  refuse(Buffer.from([0x78, 0, 1, 0, 0, 0, 0, 0, 0x61]));
  refuse(encodeEntry("file", Buffer.from("../up"), 0o644));
  refuse(Buffer.from([0x66, 0, 0xff, 0xff, 0, 0, 0, 0]));
  refuse(Buffer.concat([RECORD_END, Buffer.from("x")]));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const event of new TreeDecoder().take(bytes))
          if ("path" in event) expect(isPathBelow(event.path)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
});
