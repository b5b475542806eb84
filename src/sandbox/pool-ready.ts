/** Looks after the ready sandboxes of one shape: those demand no longer asks for go, those that died are noticed. */
import { type Failure, toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { PoolEndings } from "./pool-endings.ts";
import type { Shape } from "./pool-shape.ts";

/** A ready sandbox is asked for a sign of life this often. */
export const LOOK_MS = 60_000;

/** Destroys the oldest beyond `target`, and asks the others for a sign of life in the background. */
export function tidyReady(
  { runtime, endings }: { readonly runtime: Runtime; readonly endings: PoolEndings },
  shape: Shape,
  target: number,
  onLost: (failure: Failure) => void,
): void {
  const surplus = Math.max(0, shape.ready.length - target);
  for (const { sandbox } of shape.ready.splice(0, surplus)) void endings.destroy(sandbox);
  for (const each of shape.ready) {
    if (runtime.monotonic() - each.lookedAtMs < LOOK_MS) continue;
    each.lookedAtMs = runtime.monotonic();
    void each.sandbox.stats().catch((error: unknown) => {
      onLost(toFailure(error));
      const at = shape.ready.indexOf(each);
      if (at < 0) return;
      shape.ready.splice(at, 1);
      void endings.destroy(each.sandbox);
    });
  }
}
