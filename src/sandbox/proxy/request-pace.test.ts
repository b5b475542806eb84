/** One sandbox cannot keep the process that serves all of them busy with requests. */
import { expect, test } from "vitest";
import type { Runtime } from "../../core/runtime.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { requestPace } from "./request-pace.ts";

/** Time stands still until it is moved. */
function stillRuntime(): { readonly runtime: Runtime; pass(ms: number): void } {
  let now = 1_000;
  const due: { readonly atMs: number; readonly run: () => void }[] = [];
  return {
    runtime: {
      ...systemRuntime(),
      monotonic: () => now,
      timer: (ms, run) => {
        const one = { atMs: now + ms, run };
        due.push(one);
        return () => void due.splice(due.indexOf(one), 1);
      },
    },
    pass: (ms) => {
      now += ms;
      for (const one of due.filter(({ atMs }) => atMs <= now)) {
        due.splice(due.indexOf(one), 1);
        one.run();
      }
    },
  };
}

test("ordinary bursts pass, a flood is cut, and connections then come one after another until it ebbs", () => {
  const { runtime, pass } = stillRuntime();
  const pace = requestPace(runtime);
  let begun = 0;
  const begin = (): void => {
    begun += 1;
  };
  pace.admit(begin);
  expect(begun).toBe(1);
  const taken = Array.from({ length: 5_000 }, () => pace.take()).filter(Boolean).length;
  expect(taken).toBe(2_000);
  const calls = Array.from({ length: 10 }, () => pace.admit(begin));
  expect(begun).toBe(1);
  calls.at(-1)?.();
  pass(500);
  expect(begun).toBe(6);
  pass(500);
  expect(begun).toBe(10);
  expect(pace.take()).toBe(true);
  pass(60_000);
  pace.admit(begin);
  expect(begun).toBe(11);
});
