/** The resource curve: sampled while the sandbox is lent, bounded however long that is, never in the episode's way. */
import { expect, test } from "vitest";
import type { Sandbox, SandboxStats } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { sampleCurve } from "./resource-curve.ts";

const runtime = systemRuntime();
const STATS: SandboxStats = {
  cpuMs: 1,
  memoryBytes: 2,
  memoryPeakBytes: 3,
  throttledMs: 0,
  diskBytes: 4,
  files: 5,
  processes: 6,
  oomKills: 0,
};

function sandboxWith(stats: () => Promise<SandboxStats>): Sandbox {
  return { stats } as unknown as Sandbox;
}

test("samples come in order, as columns of equal length, the last one from the end", async () => {
  let calls = 0;
  const sampler = sampleCurve(
    sandboxWith(async () => ({ ...STATS, cpuMs: ++calls })),
    runtime,
    10,
  );
  while (calls < 4) await runtime.sleep(5);
  const curve = sampler.end({ ...STATS, cpuMs: 99 });
  expect(curve?.cpuMs.at(-1)).toBe(99);
  expect(curve?.cpuMs.slice(0, 3)).toEqual([1, 2, 3]);
  expect(new Set(Object.values(curve ?? {}).map((column) => column.length)).size).toBe(1);
  expect(curve?.atMs).toEqual(curve?.atMs.toSorted((a, b) => a - b));
  const seen = calls;
  await runtime.sleep(50);
  expect(calls).toBe(seen);
});

test("a long episode is kept coarser instead of longer", async () => {
  let calls = 0;
  const sampler = sampleCurve(
    sandboxWith(async () => ({ ...STATS, cpuMs: ++calls })),
    runtime,
    1,
    8,
  );
  while (calls < 30) await runtime.sleep(5);
  const curve = sampler.end(STATS);
  expect(curve?.cpuMs.length).toBeLessThanOrEqual(8);
  expect(curve?.cpuMs[0]).toBe(1);
});

test("an episode of a moment has no curve, and a sandbox that cannot tell leaves a gap", async () => {
  expect(
    sampleCurve(
      sandboxWith(async () => STATS),
      runtime,
    ).end(STATS),
  ).toBeNull();
  let calls = 0;
  const failing = sampleCurve(
    sandboxWith(async () => {
      calls += 1;
      if (calls === 2) throw new Error("lost");
      return STATS;
    }),
    runtime,
    5,
  );
  while (calls < 4) await runtime.sleep(2);
  expect(failing.end(STATS)?.atMs.length).toBeGreaterThanOrEqual(3);
});
