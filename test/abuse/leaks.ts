/**
 * The global leak check: what `scanLeaks` finds before and after. Items of this process's own helpers, or of dead ones,
 * must be gone; a live owner elsewhere on this machine is not our business.
 */
import { expect } from "vitest";
import type { LeakCheck } from "../conformance/case.ts";
import { type LeakScope, scanLeaks } from "./leak-scan.ts";

/** Names of what was there before, each with its kind. */
export type LeakBaseline = ReadonlySet<string>;

const WAIT_MS = 10_000;

export async function leakBaseline(scope: LeakScope = {}): Promise<LeakBaseline> {
  return scanLeaks(scope);
}

/** Waits for the kernel's own delays, then fails naming what is left. `keep` spares what the caller still uses. */
export async function expectNoLeaks(
  baseline: LeakBaseline,
  keep: (item: string) => boolean = () => false,
  scope: LeakScope = {},
): Promise<void> {
  expect(await leaksAfter(baseline, keep, scope), "left behind").toEqual([]);
}

/** The same as a list: what is left after the kernel had time to clear it. */
export async function leaksAfter(
  baseline: LeakBaseline,
  keep: (item: string) => boolean = () => false,
  scope: LeakScope = {},
): Promise<string[]> {
  const end = performance.now() + WAIT_MS;
  const left = (): string[] => [...scanLeaks(scope)].filter((item) => !baseline.has(item) && !keep(item));
  let found = left();
  while (found.length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    found = left();
  }
  return found;
}

/** What a live provider keeps between two sandboxes: its helper, with its own group, folder and socket. */
export function isHelperItself(item: string): boolean {
  return /^process \d+ sandlot-zygote|^(mount|descriptor) of helper |^(group|folder) \S+\/sandlot-[0-9a-f-]+$|^socket /.test(
    item,
  );
}

/**
 * The check between two cases of the suite. A first sandbox brings the provider's helper up; from then on it may have
 * nothing more than it had after that one was gone.
 */
export const helperLeakCheck: LeakCheck = async (provider, request) => {
  const first = await provider.create(request, new AbortController().signal);
  await first.destroy();
  const baseline = await settled();
  return async () => {
    expect(await provider.list(), "sandboxes left behind").toEqual([]);
    await expectNoLeaks(baseline, () => false, { descriptors: true });
  };
};

/** The scan once it has given the same twice: the kernel clears after a destroy what needs no one's waiting. */
async function settled(): Promise<LeakBaseline> {
  let before = scanLeaks({ descriptors: true });
  for (let tries = 0; tries < 100; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = scanLeaks({ descriptors: true });
    if (now.size === before.size && [...now].every((item) => before.has(item))) return now;
    before = now;
  }
  return before;
}
