/** The counters an agent answers with, as the contract names them. Pure. */
import type { SandboxStats } from "../core/sandbox.ts";

const NO_COUNTER = 0xffff_ffff_ffff_ffffn;

/** u64 each, all ones where the host has no such counter; an agent may send fewer of them than are known here. */
export function decodeStats(payload: Buffer): SandboxStats {
  const counter = (index: number): number | null => {
    if (payload.length < index * 8 + 8) return null;
    const value = payload.readBigUInt64LE(index * 8);
    return value === NO_COUNTER ? null : Number(value);
  };
  const milliseconds = (index: number): number | null => {
    const microseconds = counter(index);
    return microseconds === null ? null : microseconds / 1000;
  };
  return {
    cpuMs: milliseconds(0),
    memoryBytes: counter(1),
    memoryPeakBytes: counter(2),
    diskBytes: counter(3),
    processes: counter(4),
    oomKills: counter(5),
    throttledMs: milliseconds(6),
    files: counter(7),
  };
}
