/**
 * Times three contenders on the same machine, in turn, on inputs that are new in each round: the task's baseline, its
 * reference and the subject. Every output is checked outside of them.
 *
 * A call costs the larger of the wall time until its answer and the processor time of its whole sandbox until its next
 * call, both of the host's clocks: what a program defers, hands to threads or sleeps is its own cost, and a clock that it
 * patches is nobody's. Nobody is called while another still works.
 */
import { toFailure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { PerformanceRule } from "../core/task.ts";
import type { Measure } from "../core/verifier.ts";
import type { SubjectDriver, SubjectReply } from "./subject-driver.ts";

/** Faster than the reference by more than this is faster than the work allows. */
const UNPHYSICAL_RATIO = 3;
/** A sandbox that used less than `IDLE_CPU_MS` in `LOOK_MS` is at rest; one that never is goes on being charged. */
const LOOK_MS = 5;
const IDLE_CPU_MS = 1;
const SETTLE_MS_MAX = 1_000;

/** Whose program is measured. */
export type ContenderName = "baseline" | "reference" | "subject";

/** A program in a sandbox of its own, ready to be called. */
export interface Contender {
  readonly name: ContenderName;
  readonly sandbox: Sandbox;
  readonly driver: SubjectDriver;
}

/** The trusted side: arguments of a round as Python literals, and whether an output is right. */
export interface Workload {
  make(round: number): Promise<string>;
  /** `value` is canonical text. What ends the check is wrong where the subject gave it, and else a fault. */
  check(round: number, value: string, name: ContenderName): Promise<boolean>;
}

/** How the rounds ended; a contender that failed ends them. */
export type Timing =
  | {
      readonly kind: "measured";
      readonly medians: Readonly<Record<ContenderName, number>>;
      /** b/x of each round. */
      readonly ratios: readonly number[];
    }
  | { readonly kind: "failed"; readonly name: ContenderName; readonly reply: SubjectReply }
  /** The time for grading was used up; most of it by the subject, or not. */
  | { readonly kind: "late"; readonly isSubjectSlow: boolean };

interface Cost {
  readonly wallMs: number;
  cpuMs: number;
}

/** How often each runs, and until when. */
export interface TimingRules {
  readonly repeats: number;
  readonly runtime: Runtime;
  readonly deadline: number;
  /** What making each contender ready took, in milliseconds: a program may also spend the time while it is loaded. */
  readonly loadMs: ReadonlyMap<ContenderName, number>;
}

/** Runs one round that does not count, then `repeats` that do. Whoever goes first changes from round to round. */
export async function timeContenders(
  contenders: readonly Contender[],
  workload: Workload,
  { repeats, runtime, deadline, loadMs }: TimingRules,
): Promise<Timing> {
  const costs = new Map<ContenderName, Cost[]>(contenders.map(({ name }) => [name, []]));
  const usedMs = new Map<ContenderName, number>();
  for (let round = 0; round <= repeats; round += 1) {
    const args = await workload.make(round);
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const contender = contenders[(round + turn) % contenders.length];
      if (contender === undefined) continue;
      if (runtime.monotonic() >= deadline) return { kind: "late", isSubjectSlow: isSlow(costs, loadMs) };
      await chargeProcessor(contender, costs, usedMs);
      const startedMs = runtime.monotonic();
      const reply = await contender.driver.call(args, "{}");
      costs.get(contender.name)?.push({ wallMs: runtime.monotonic() - startedMs, cpuMs: 0 });
      await settle(contender, runtime);
      if (reply.kind !== "value" || !(await workload.check(round, reply.text, contender.name))) {
        return { kind: "failed", name: contender.name, reply };
      }
    }
  }
  for (const contender of contenders) await chargeProcessor(contender, costs, usedMs);
  const share = processorShare((costs.get("baseline") ?? []).slice(1));
  const counted = (name: ContenderName): readonly number[] =>
    (costs.get(name) ?? []).slice(1).map(({ wallMs, cpuMs }) => Math.max(wallMs * share, cpuMs));
  const [baseline, reference, subject] = [counted("baseline"), counted("reference"), counted("subject")];
  return {
    kind: "measured",
    medians: { baseline: median(baseline), reference: median(reference), subject: median(subject) },
    ratios: baseline.map((cost, round) => cost / (subject[round] ?? Number.NaN)),
  };
}

/**
 * How much of its wall time the baseline had a processor, in (0, 1]. On a starved machine all wait alike, and only what a
 * program defers would not: wall time is therefore counted as the processor time it would have been.
 */
function processorShare(baseline: readonly Cost[]): number {
  const cpuMs = baseline.reduce((sum, cost) => sum + cost.cpuMs, 0);
  const wallMs = baseline.reduce((sum, cost) => sum + cost.wallMs, 0);
  return cpuMs > 0 && cpuMs < wallMs ? cpuMs / wallMs : 1;
}

/** Whether the subject took longer than both others: only then is it its own fault that time was too short. */
function isSlow(
  costs: ReadonlyMap<ContenderName, readonly Cost[]>,
  loadMs: ReadonlyMap<ContenderName, number>,
): boolean {
  const sum = (name: ContenderName): number =>
    (costs.get(name) ?? []).reduce((all, { wallMs }) => all + wallMs, loadMs.get(name) ?? 0);
  return sum("subject") > sum("baseline") + sum("reference");
}

/** Charges what a sandbox has used since its last call began to that call. Nothing where the host does not count it. */
async function chargeProcessor(
  { name, sandbox }: Contender,
  costs: ReadonlyMap<ContenderName, Cost[]>,
  usedMs: Map<ContenderName, number>,
): Promise<void> {
  const cpuMs = await usedCpuMs(sandbox);
  if (cpuMs === null) return;
  const last = costs.get(name)?.at(-1);
  if (last !== undefined) last.cpuMs = cpuMs - (usedMs.get(name) ?? cpuMs);
  usedMs.set(name, cpuMs);
}

/** Waits until nothing works on after an answer, so that it is charged to its own call and disturbs no other. */
async function settle({ sandbox }: Contender, runtime: Runtime): Promise<void> {
  const startedMs = runtime.monotonic();
  let before = await usedCpuMs(sandbox);
  while (before !== null && runtime.monotonic() - startedMs < SETTLE_MS_MAX) {
    await runtime.sleep(LOOK_MS);
    const now = await usedCpuMs(sandbox);
    if (now === null || now - before < IDLE_CPU_MS) return;
    before = now;
  }
}

/** Null as well for a sandbox that the program has ended: its next call says so. */
async function usedCpuMs(sandbox: Sandbox): Promise<number | null> {
  try {
    return (await sandbox.stats()).cpuMs;
  } catch (error) {
    if (toFailure(error).code === "sandbox_killed") return null;
    throw error;
  }
}

/** Of an odd or even count; 0 of nothing. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1] ?? 0, sorted[Math.floor(middle)] ?? 0];
  return (low + high) / 2;
}

/** Share of the rounds in which the subject must have been faster: a busy machine makes a median lie, not four in five. */
const FASTER_SHARE = 0.8;

/**
 * The score of three medians b, o and x: clamp(log(b/x) / log(b/o), 0, 1), and 0 where b/x lies within the noise of 1, or
 * does so in more than a fifth of the rounds; 1 where x lies within the noise of o, as the reference itself does not
 * measure twice alike. Null when the reference is not faster than the baseline beyond the noise, so
 * that nothing can be scored. Pure.
 */
export function performanceScore(
  { baseline, reference, subject }: Readonly<Record<ContenderName, number>>,
  { noise }: Pick<PerformanceRule, "noise">,
  ratios: readonly number[],
): Pick<Measure, "score" | "isUnphysical"> | null {
  const [speed, best] = [baseline / subject, baseline / reference];
  if (!(Number.isFinite(speed) && Number.isFinite(best) && best > 1 + noise)) return null;
  const faster = ratios.filter((ratio) => ratio > 1 + noise).length;
  const isFaster = speed > 1 + noise && faster >= Math.ceil(FASTER_SHARE * ratios.length);
  const isAsFast = subject <= reference * (1 + noise);
  const score = !isFaster ? 0 : isAsFast ? 1 : Math.log(speed) / Math.log(best);
  return { score, isUnphysical: speed > UNPHYSICAL_RATIO * best };
}
