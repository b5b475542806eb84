/**
 * What every Objects adapter must hold: create-only puts, read after write, ranged reads, lists in key order. Call
 * `objectsConformance("mine", make)` inside a vitest file; `make` gives an empty place and how to be rid of it.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Objects } from "../../src/core/store.ts";

export interface ObjectsPlace {
  readonly objects: Objects;
  remove(): Promise<void>;
}

/** None of these may name an object: a key is plain parts joined by `/`. */
const WRONG_KEYS = [
  "",
  "/etc/passwd",
  "../outside",
  "a/../b",
  "a//b",
  ".hidden",
  "a/.b",
  "a\u0000b",
  "a b",
  "a/",
  "x".repeat(600),
];

export function objectsConformance(name: string, make: () => Promise<ObjectsPlace>): void {
  describe(`objects in ${name}`, () => {
    let place: ObjectsPlace;
    beforeEach(async () => {
      place = await make();
    });
    afterEach(() => place.remove());
    const text = async (key: string, range?: { offset: number; length: number }): Promise<string> =>
      Buffer.from(await place.objects.get(key, range)).toString();

    test("what was put is read back, whole or by range", async () => {
      await place.objects.put("p/default/a", Buffer.from("0123456789"));
      expect(await text("p/default/a")).toBe("0123456789");
      expect(await text("p/default/a", { offset: 3, length: 4 })).toBe("3456");
      expect(await text("p/default/a", { offset: 10, length: 0 })).toBe("");
    });

    test("an object is never replaced", async () => {
      await place.objects.put("a", Buffer.from("first"));
      await expect(place.objects.put("a", Buffer.from("second"))).rejects.toMatchObject({ code: "superseded" });
      expect(await text("a")).toBe("first");
    });

    test("of many puts of one key exactly one wins, and it is whole", async () => {
      const puts = Array.from({ length: 16 }, (_, index) => place.objects.put("a", Buffer.alloc(100_000, index)));
      const results = await Promise.allSettled(puts);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(new Set(await place.objects.get("a")).size).toBe(1);
    });

    test("a missing object is named, and so is one shorter than what is asked for", async () => {
      await expect(place.objects.get("p/none")).rejects.toMatchObject({ code: "object_missing" });
      await expect(place.objects.get("p/none")).rejects.toThrow(/p\/none/);
      await place.objects.put("short", Buffer.from("abc"));
      await expect(place.objects.get("short", { offset: 2, length: 9 })).rejects.toMatchObject({
        code: "record_invalid",
      });
    });

    test("keys are listed by prefix in key order, with their sizes", async () => {
      expect(await place.objects.list("")).toEqual([]);
      for (const key of ["b/2", "b/10", "a", "b/c/1", "bc"]) await place.objects.put(key, Buffer.from(key));
      expect(await place.objects.list("b/")).toEqual([
        { key: "b/10", bytes: 4 },
        { key: "b/2", bytes: 3 },
        { key: "b/c/1", bytes: 5 },
      ]);
      expect((await place.objects.list("")).map(({ key }) => key)).toEqual(["a", "b/10", "b/2", "b/c/1", "bc"]);
    });

    test.each(WRONG_KEYS)("the key %j is refused for writing and for reading", async (key) => {
      await expect(place.objects.put(key, Buffer.from("x"))).rejects.toMatchObject({ code: "request_invalid" });
      await expect(place.objects.get(key)).rejects.toMatchObject({ code: "request_invalid" });
    });
  });
}
