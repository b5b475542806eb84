/** The files that make a sandbox look as large as its limits, as `native/helper/machine.c` writes them. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

export function coresOf(cpus: number): number {
  return Math.max(1, Math.min(availableParallelism(), Math.ceil(cpus)));
}

export function meminfo(memoryBytes: number): string {
  const all = Math.floor(memoryBytes / 1_024);
  const fields: readonly (readonly [string, number])[] = [
    ["MemTotal", all],
    ["MemFree", all],
    ["MemAvailable", all],
    ...["Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Dirty", "Writeback"].map(
      (name) => [name, 0] as const,
    ),
    ...["AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim"].map((name) => [name, 0] as const),
    ["CommitLimit", all],
    ["Committed_AS", 0],
  ];
  const lines = fields.map(([name, kib]) => `${`${name}:`.padEnd(16)}${String(kib).padStart(8)} kB\n`);
  return `${lines.join("")}HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n`;
}

/** The host's first processors, as many as the sandbox has. */
export function cpuinfo(cores: number): string {
  const each = readFileSync("/proc/cpuinfo", "utf8").split("\n\n");
  return `${each.slice(0, cores).join("\n\n")}\n\n`;
}

/** As the kernel writes a list of processors. */
export function coreList(cores: number): string {
  return cores > 1 ? `0-${cores - 1}\n` : "0\n";
}
