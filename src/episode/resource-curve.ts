/**
 * What a sandbox used, second by second, while it was lent. The number of samples is bounded: a long episode is kept
 * coarser, never cut off. A sample that cannot be had leaves a gap and never disturbs the episode.
 */
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox, SandboxStats } from "../core/sandbox.ts";
import type { ResourceCurve } from "../core/trajectory.ts";

const INTERVAL_MS = 1_000;
/** Reaching this, every second sample is dropped and the interval doubles. */
const SAMPLES_MAX = 600;

export interface CurveSampler {
  /** Takes the last sample and ends the sampling. Null when there were fewer than two: the totals then say it all. */
  end(last: SandboxStats | null): ResourceCurve | null;
}

export function sampleCurve(
  sandbox: Sandbox,
  runtime: Runtime,
  intervalMs = INTERVAL_MS,
  samplesMax = SAMPLES_MAX,
): CurveSampler {
  const startedAt = runtime.monotonic();
  let samples: { readonly atMs: number; readonly stats: SandboxStats }[] = [];
  let everyMs = intervalMs;
  let isOver = false;
  let cancel = (): void => undefined;
  const add = (stats: SandboxStats): void => {
    samples.push({ atMs: Math.round(runtime.monotonic() - startedAt), stats });
    if (samples.length < samplesMax) return;
    samples = samples.filter((_sample, index) => index % 2 === 0);
    everyMs *= 2;
  };
  const next = (): void => {
    cancel = runtime.timer(everyMs, () => {
      void sandbox
        .stats()
        .then(
          (stats) => (isOver ? undefined : add(stats)),
          () => undefined,
        )
        .then(() => (isOver ? undefined : next()));
    });
  };
  next();
  return {
    end: (last) => {
      isOver = true;
      cancel();
      if (last !== null) add(last);
      return samples.length < 2 ? null : columnsOf(samples);
    },
  };
}

function columnsOf(samples: readonly { readonly atMs: number; readonly stats: SandboxStats }[]): ResourceCurve {
  const column = (name: keyof SandboxStats): (number | null)[] => samples.map(({ stats }) => stats[name]);
  return {
    atMs: samples.map(({ atMs }) => atMs),
    cpuMs: column("cpuMs"),
    throttledMs: column("throttledMs"),
    memoryBytes: column("memoryBytes"),
    diskBytes: column("diskBytes"),
    files: column("files"),
    processes: column("processes"),
  };
}
