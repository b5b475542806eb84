/**
 * What `sandlot task check` says of a task: one result for each check of the profile, and one verdict over them.
 * What was not assessed never counts as passed. Rendering is the command line's.
 */
import { wilsonInterval } from "../../core/statistics.ts";
import type { CheckSpec, Finding, Profile } from "./check-contract.ts";

/** What one check cost. Runs that checks share are charged to the one that asked first. */
export interface CheckCost {
  /** Wall clock, waiting for a free sandbox included. */
  readonly durationMs: number;
  readonly episodes: number;
  /** How long sandboxes were lent, all together. */
  readonly sandboxMs: number;
}

export interface CheckResult extends CheckSpec, CheckCost {
  readonly status: Finding["status"];
  /** One line: what was seen, and of a failure what to do. */
  readonly evidence: string;
  /** Where to look; null when no one file is at fault. */
  readonly file: string | null;
  readonly line: number | null;
  /** Why the author lets a failed W stand, as `[[sandlot.waivers]]` says; null without a waiver. */
  readonly waiver: string | null;
  /** The result of an earlier run of the same task hash, which was worse or is final. */
  readonly isRemembered: boolean;
  /** The check itself broke: our mistake, not the task's. */
  readonly isBroken: boolean;
}

export type CheckVerdict = "valid" | "invalid" | "error" | "timeout" | "incomplete";

/** How often a repeated run of the oracle, an alternative or nothing gave another verdict than the first one did. */
export interface FlakeRate {
  readonly runs: number;
  readonly flips: number;
  /** 95 % Wilson interval of the rate. */
  readonly low: number;
  readonly high: number;
  /** A flip was seen and the rate may be above 5 %: no verdict of the task counts in either direction. */
  readonly isQuarantined: boolean;
}

export interface CheckReport extends CheckCost {
  /** Of the task; the name of a generator; the folder when the task cannot be read. */
  readonly key: string;
  readonly kind: "folder" | "generator";
  readonly folder: string | null;
  /** Null for a generator, and for a task that cannot be read. */
  readonly hash: string | null;
  /** The task could not be read at all. */
  readonly isUnreadable: boolean;
  readonly profile: Profile;
  readonly verdict: CheckVerdict;
  /** By number. */
  readonly checks: readonly CheckResult[];
  /** Null where nothing was repeated. */
  readonly flake: FlakeRate | null;
}

const FLAKE_RATE_MAX = 0.05;

/** The flake rate of counted runs; quarantine needs a flip, since no number of runs that is paid for proves 5 % alone. */
export function flakeRate(runs: number, flips: number): FlakeRate | null {
  if (runs === 0) return null;
  const { low, high } = wilsonInterval(flips, runs);
  return { runs, flips, low, high, isQuarantined: flips > 0 && high > FLAKE_RATE_MAX };
}

/** A finding as a line of the report. */
export function checkResult(spec: CheckSpec, finding: Finding, cost: Partial<CheckCost> = {}): CheckResult {
  const { number, id, method, profile, title } = spec;
  const { status, evidence, file = null, line = null, severity = spec.severity } = finding;
  return {
    number,
    id,
    severity,
    method,
    profile,
    title,
    status,
    evidence: evidence.replaceAll(/\s*\n\s*/g, " "),
    file,
    line,
    waiver: null,
    isRemembered: false,
    isBroken: false,
    durationMs: cost.durationMs ?? 0,
    episodes: cost.episodes ?? 0,
    sandboxMs: cost.sandboxMs ?? 0,
  };
}

/** Whether a result alone makes its task invalid: a failed E, and in release a failed W that nobody waived. */
export function isBlocking({ status, severity, waiver }: CheckResult, profile: Profile): boolean {
  if (status !== "fail") return false;
  return severity === "E" || (profile === "release" && waiver === null);
}

/** The one verdict over the results of a profile. A fault outweighs what stayed open. */
export function verdictOf(
  checks: readonly CheckResult[],
  profile: Profile,
  how: { readonly isTimedOut?: boolean; readonly isQuarantined?: boolean } = {},
): CheckVerdict {
  if (checks.some((check) => isBlocking(check, profile))) return "invalid";
  if (profile === "release" && how.isQuarantined === true) return "invalid";
  if (checks.some(({ isBroken }) => isBroken)) return "error";
  if (how.isTimedOut === true) return "timeout";
  const isOpen = checks.some(({ severity, status }) => severity === "E" && status === "not-assessed");
  return isOpen || checks.length === 0 ? "incomplete" : "valid";
}

const WORST: readonly Finding["status"][] = ["fail", "not-assessed", "pass", "skip"];

/** One report over several tasks of a generator: per check the worst status, with the keys of the tasks that have it. */
export function mergedChecks(
  reports: readonly { readonly key: string; readonly checks: readonly CheckResult[] }[],
): CheckResult[] {
  const ids = [...new Set(reports.flatMap(({ checks }) => checks.map(({ id }) => id)))];
  return ids.flatMap((id): CheckResult[] => {
    const all = reports.flatMap(({ key, checks }) =>
      checks.filter((check) => check.id === id).map((check) => ({ key, check })),
    );
    const status = WORST.find((candidate) => all.some(({ check }) => check.status === candidate));
    const having = all.filter(({ check }) => check.status === status);
    const first = having.find(({ check }) => check.severity === "E")?.check ?? having[0]?.check;
    if (first === undefined) return [];
    const isWorthNaming = status === "fail" || status === "not-assessed";
    const evidence = isWorthNaming
      ? having.map(({ key, check }) => `${key}: ${check.evidence}`).join("; ")
      : `${all.length} tasks: ${first.evidence}`;
    return [
      {
        ...first,
        ...totalCost(all.map(({ check }) => check)),
        evidence,
        isBroken: all.some(({ check }) => check.isBroken),
      },
    ];
  });
}

/** Costs added up. */
export function totalCost(costs: readonly CheckCost[]): CheckCost {
  const sum = (of: (cost: CheckCost) => number): number => costs.reduce((total, cost) => total + of(cost), 0);
  return {
    durationMs: sum((cost) => cost.durationMs),
    episodes: sum((cost) => cost.episodes),
    sandboxMs: sum((cost) => cost.sandboxMs),
  };
}
