/** Case 64: two thousand claims at once on a pool over the provider; most are given up while they wait. */
import { expect } from "vitest";
import { Failure } from "../../src/core/errors.ts";
import type { SandboxProvider } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { sandboxPool } from "../../src/sandbox/pool.ts";
import type { ConformanceCase } from "./case.ts";
import { OPTIONS } from "./sandbox-parts.ts";

const CLAIMS = 2_000;
const LENT_MAX = 8;
/** Claims that are served before all others are given up. */
const SERVED = 40;
/** Creations that fail on purpose. */
const FAILING = 3;

export const POOL_CASES: readonly ConformanceCase[] = [
  {
    number: 64,
    title: "two thousand claims at once stay below the ceiling, fail by name, and cause no storm of creations",
    run: async (boxes) => {
      const counted = counting(boxes.provider());
      const pool = sandboxPool({
        provider: counted.provider,
        runtime: systemRuntime(),
        lentMax: LENT_MAX,
        creatingMax: 4,
        readyMax: 0,
      });
      const givenUp = new AbortController();
      let served = 0;
      let most = 0;
      const claim = async (index: number): Promise<string> => {
        const request = { ...boxes.request, attemptId: `claim-${index}` };
        return pool
          .withSandbox(request, givenUp.signal, async (sandbox) => {
            most = Math.max(most, (await boxes.provider().list()).length);
            expect((await sandbox.exec("true", OPTIONS)).exitCode).toBe(0);
            served += 1;
            if (served === SERVED) givenUp.abort();
            return "served";
          })
          .catch((error: unknown) => (error instanceof Failure ? error.code : String(error)));
      };
      const ends = await Promise.all(Array.from({ length: CLAIMS }, (_, index) => claim(index)));
      await pool.drain();
      const count = (end: string): number => ends.filter((each) => each === end).length;
      const typed = ["served", "cancelled", "sandbox_unavailable"];
      expect(ends.filter((end) => !typed.includes(end))).toEqual([]);
      expect(count("served")).toBeGreaterThanOrEqual(SERVED);
      expect(count("sandbox_unavailable")).toBeLessThanOrEqual(FAILING);
      expect(count("served") + count("cancelled") + count("sandbox_unavailable")).toBe(CLAIMS);
      expect(most).toBeLessThanOrEqual(LENT_MAX);
      expect(counted.creations()).toBeLessThanOrEqual(count("served") + FAILING + 2 * LENT_MAX);
      expect(pool.stats()).toMatchObject({ lent: 0, waiting: 0, creating: 0, ready: 0 });
      expect(await boxes.provider().list()).toEqual([]);
    },
  },
];

/** The provider with its creations counted, the first of which fail. */
function counting(provider: SandboxProvider): { provider: SandboxProvider; creations: () => number } {
  let creations = 0;
  const create: SandboxProvider["create"] = async (request, signal) => {
    creations += 1;
    if (creations <= FAILING) throw new Failure("sandbox_unavailable", "This creation fails on purpose.");
    return provider.create(request, signal);
  };
  return { provider: { ...provider, create }, creations: () => creations };
}
