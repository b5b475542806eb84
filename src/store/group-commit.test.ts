import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRuntime } from "../runtime/system.ts";
import { type GroupCommit, groupCommit } from "./group-commit.ts";
import { type Content, sha256 } from "./pack.ts";

let database: DatabaseSync;
let puts: string[][];
let order: string[];
let failPut: boolean;
let writes: GroupCommit;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE note (text TEXT PRIMARY KEY) STRICT");
  puts = [];
  order = [];
  failPut = false;
  writes = groupCommit({
    database,
    folder: "/data",
    runtime: systemRuntime(),
    put: async (contents) => {
      if (failPut) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      puts.push(contents.map(({ bytes }) => Buffer.from(bytes).toString()));
      order.push("bytes");
      return { pack: { key: "pack", bytes: 1 }, shared: [] };
    },
    recordObjects: () => order.push("object row"),
  });
});
afterEach(() => {
  if (database.isOpen) database.close();
});

const content = (text: string): Content => ({
  hash: sha256(Buffer.from(text)),
  kind: "body",
  bytes: Buffer.from(text),
});
const insert = (text: string) => () => {
  order.push(text);
  database.prepare("INSERT INTO note VALUES (?)").run(text);
  return text;
};
const notes = (): unknown[] =>
  database
    .prepare("SELECT text FROM note")
    .all()
    .map(({ text }) => text);

test("writes of one moment share one pack, and their bytes come before any row", async () => {
  const all = ["a", "b", "c"].map((text) => writes.write({ contents: [content(text)], apply: insert(text) }));
  expect(await Promise.all(all)).toEqual(["a", "b", "c"]);
  expect(puts).toEqual([["a", "b", "c"]]);
  expect(order).toEqual(["bytes", "object row", "a", "b", "c"]);
});

test("a write that fails leaves nothing and does not touch its neighbours", async () => {
  const broken = writes.write({
    apply: () => {
      insert("half")();
      throw new Error("on purpose");
    },
  });
  const results = await Promise.allSettled([
    writes.write({ apply: insert("a") }),
    broken,
    writes.write({ apply: insert("b") }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(notes()).toEqual(["a", "b"]);
});

test("bytes of a write that is not wanted are not kept, but it is asked once more inside the transaction", async () => {
  const apply = (stored: unknown): string => (stored === null ? "superseded" : "accepted");
  expect(await writes.write({ contents: [content("a")], isWanted: () => false, apply })).toBe("superseded");
  expect(puts).toEqual([]);
});

test("when bytes cannot be written, the writes that carried them fail and the others go on", async () => {
  failPut = true;
  const carrying = writes.write({ contents: [content("a")], apply: insert("a") });
  const bare = writes.write({ apply: insert("b") });
  await expect(carrying).rejects.toMatchObject({ code: "disk_full" });
  expect(await bare).toBe("b");
  expect(notes()).toEqual(["b"]);
});

test("after an error that hits a whole group the next group is written", async () => {
  const odd = writes.write({ contents: [content("a")], isWanted: () => JSON.parse("{"), apply: insert("a") });
  await expect(odd).rejects.toMatchObject({ code: "unexpected" });
  expect(await writes.write({ apply: insert("b") })).toBe("b");
});

test("writes to a closed database fail instead of waiting for ever", async () => {
  database.close();
  await expect(writes.write({ apply: insert("a") })).rejects.toMatchObject({ code: "unexpected" });
  await writes.drain();
});
