import { expect, test } from "vitest";
import { withDeadline } from "../core/runtime.ts";
import { systemRuntime } from "./system.ts";

const runtime = systemRuntime();

test("ids are 26 characters, distinct, and sort by creation time", async () => {
  const first = runtime.id();
  await runtime.sleep(3);
  const second = runtime.id();
  expect(first).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(first < second).toBe(true);
});

test("a sleep that is cancelled rejects at once as cancelled", async () => {
  const controller = new AbortController();
  const sleeping = runtime.sleep(60_000, controller.signal);
  controller.abort();
  await expect(sleeping).rejects.toMatchObject({ code: "cancelled" });
});

test("work past its deadline is told through its signal and rejected with the given error", async () => {
  let seen: AbortSignal | null = null;
  const work = withDeadline(
    runtime,
    5,
    () => new Error("too late"),
    async (signal) => {
      seen = signal;
      await runtime.sleep(60_000, signal);
    },
  );
  await expect(work).rejects.toThrow("too late");
  expect((seen as AbortSignal | null)?.aborted).toBe(true);
});
