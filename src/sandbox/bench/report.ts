/** The figures of one run of the sandbox benchmark, with the conditions they hold under, as data and as a table. */
import { readFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import type { Quantity } from "./measure.ts";
import type { Figure } from "./own-figures.ts";

/** One run of the benchmark. Times are milliseconds. */
export interface SandboxBench {
  readonly machine: {
    readonly cores: number;
    readonly processor: string;
    readonly kernel: string;
    readonly node: string;
    /** Versions of control groups that are mounted: `v1`, `v2`, `hybrid` or `none`. */
    readonly groups: string;
  };
  readonly loadAverageBefore: readonly number[];
  readonly loadAverageAfter: readonly number[];
  readonly contenders: readonly { readonly name: string; readonly version: string }[];
  /** Contenders that could not take part, each with the reason. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
  readonly quantities: readonly Quantity[];
  readonly figures: readonly Figure[];
  /** Medians of others over ours of the same quantity and run: how many times faster ours is. */
  readonly ratios: readonly {
    readonly name: string;
    readonly ours: string;
    readonly other: string;
    readonly ratio: number;
  }[];
}

/** What this machine is, as far as its figures depend on it. */
export function machineOf(): SandboxBench["machine"] {
  const [first] = cpus();
  return {
    cores: cpus().length,
    processor: first?.model.trim() ?? "unknown",
    kernel: release(),
    node: process.version,
    groups: groupMode(),
  };
}

function groupMode(): string {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  const [v1, v2] = [/ - cgroup /.test(mounts), / - cgroup2 /.test(mounts)];
  if (v1 && v2) return "hybrid";
  return v1 ? "v1" : v2 ? "v2" : "none";
}

/** Load averages of 1, 5 and 15 minutes. */
export function loadNow(): readonly number[] {
  return loadavg().map((load) => Math.round(load * 100) / 100);
}

/** Ratios of medians within each quantity, against the first contender of it. */
export function ratiosOf(quantities: readonly Quantity[], names: readonly string[]): SandboxBench["ratios"] {
  return names.flatMap((name) => {
    const [ours, ...others] = quantities.filter((each) => each.name === name);
    if (ours === undefined || ours.p50 === null) return [];
    const own = ours.p50;
    return others.flatMap(({ contender, p50 }) =>
      p50 === null ? [] : [{ name, ours: ours.contender, other: contender, ratio: p50 / own }],
    );
  });
}

/** The same for people: conditions first, then times, figures and ratios. */
export function tableOf(bench: SandboxBench): string {
  const { machine } = bench;
  const lines = [
    `${machine.cores} cores (${machine.processor}), Linux ${machine.kernel}, Node ${machine.node}, control groups ${machine.groups}`,
    `load average ${bench.loadAverageBefore.join(" ")} before, ${bench.loadAverageAfter.join(" ")} after`,
    ...bench.contenders.map(({ name, version }) => `contender ${name}: ${version}`),
    ...bench.absent.map(({ name, reason }) => `absent ${name}: ${reason}`),
    "",
    row(["", "min ms", "p50 ms", "p99 ms", "rounds", "failed"]),
  ];
  let last = "";
  for (const each of bench.quantities) {
    if (each.name !== last) lines.push(each.name);
    last = each.name;
    const times = [each.min, each.p50, each.p99].map((value) => (value === null ? "–" : value.toFixed(2)));
    lines.push(row([`  ${each.contender}`, ...times, String(each.rounds), String(each.failures)]));
    if (each.lastFailure !== null) lines.push(`    last failure: ${each.lastFailure}`);
  }
  lines.push("");
  for (const { name, contender, value, unit, note } of bench.figures)
    lines.push(`${name} (${contender}): ${value === null ? "–" : value.toFixed(value < 100 ? 1 : 0)} ${unit}, ${note}`);
  if (bench.ratios.length > 0) lines.push("");
  for (const { name, ours, other, ratio } of bench.ratios)
    lines.push(`${name}: ${other} takes ${ratio.toFixed(1)} times as long as ${ours}`);
  return lines.join("\n");
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(58) : cell.padStart(10))).join("");
}
