/** The system's clock, timers and randomness behind the Runtime port. The only file in `src/` that touches them. */
import { randomBytes } from "node:crypto";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Random bytes are drawn for many ids at once, as each draw costs more than the id. */
const DRAW_BYTES = 4_096;
const ID_BYTES = 16;

export function systemRuntime(): Runtime {
  let drawn: Uint8Array = new Uint8Array();
  const nextRandom = (): Uint8Array => {
    if (drawn.length < ID_BYTES) drawn = randomBytes(DRAW_BYTES);
    const next = drawn.subarray(0, ID_BYTES);
    drawn = drawn.subarray(ID_BYTES);
    return next;
  };
  const runtime: Runtime = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(cancelled(signal));
          return;
        }
        const abort = (): void => {
          clearTimeout(handle);
          reject(cancelled(signal));
        };
        const handle = setTimeout(() => {
          signal?.removeEventListener("abort", abort);
          resolve();
        }, ms);
        signal?.addEventListener("abort", abort, { once: true });
      }),
    timer: (ms, fire) => {
      const handle = setTimeout(fire, ms);
      handle.unref();
      return () => clearTimeout(handle);
    },
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    id: () => ulid(Date.now(), nextRandom()),
  };
  return runtime;
}

function cancelled(signal: AbortSignal | undefined): Failure {
  return new Failure("cancelled", "The wait was cancelled.", { cause: signal?.reason });
}

/** ULID (github.com/ulid/spec): 48 bits of milliseconds and 80 random bits, in Crockford's base 32. */
function ulid(now: number, random: Uint8Array): string {
  let time = "";
  for (let index = 0, rest = now; index < 10; index += 1, rest = Math.floor(rest / 32)) {
    time = CROCKFORD.charAt(rest % 32) + time;
  }
  return time + Array.from(random, (byte) => CROCKFORD.charAt(byte % 32)).join("");
}
