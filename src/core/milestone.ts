/**
 * Milestones: observable steps on the way to the end state. The platform evaluates their predicates after each turn,
 * from outside; the agent's shell and programs have no part in it.
 */
import type { Json } from "./json.ts";

/** A fact about the sandbox. It has 2 s and no side effect; what cannot be evaluated is `unknown`, never true. */
export type Predicate =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly exists?: boolean;
      readonly bytesMin?: number;
      readonly bytesMax?: number;
      readonly sha256?: string;
      /** JavaScript syntax, tried on the first MiB as UTF-8. */
      readonly regex?: string;
      /** RFC 6901. */
      readonly json?: { readonly pointer: string; readonly equals: Json };
    }
  /** A TCP listener on this port, on any address of the sandbox. */
  | { readonly kind: "port"; readonly port: number }
  /** Every word stands in the argv of one living process, in this order. */
  | { readonly kind: "process"; readonly argv: readonly string[] }
  /** Read-only; the first value of the first row. `database` is the path of an SQLite file in the sandbox. */
  | { readonly kind: "query"; readonly database: string; readonly sql: string; readonly equals: Json }
  /** GET on loopback. */
  | {
      readonly kind: "http";
      readonly url: string;
      readonly status: number;
      readonly json?: { readonly pointer: string; readonly equals: Json };
    }
  | { readonly kind: "all" | "any"; readonly of: readonly Predicate[] }
  | { readonly kind: "not"; readonly of: Predicate };

/** One observable step on the way, and what it weighs. */
export interface Milestone {
  /** Kebab-case, unique in the task. */
  readonly name: string;
  readonly predicate: Predicate;
  /** > 0. */
  readonly weight: number;
  /** True: reached once, reached for good. False: follows the state. */
  readonly once: boolean;
}

/** A task's milestones, and how they are paid. */
export interface MilestoneSpec {
  readonly items: readonly Milestone[];
  /** c: what milestones alone can earn, in (0, 0.5]. */
  readonly cap: number;
  /** `shaping`: turn rewards F = c * (M_after - M_before), their sum taken back at the end. `partial`: R = V * (T + (1 - T) * c * M). */
  readonly credit: "shaping" | "partial";
}

/** What one milestone was seen as after a turn; `unknown` keeps its last value in M. */
export interface MilestoneState {
  readonly name: string;
  readonly value: boolean | "unknown";
  /** Whether it counts in M: latched, or true now, or kept from before. */
  readonly counts: boolean;
}

/** The milestones after one turn. */
export interface MilestoneReading {
  readonly states: readonly MilestoneState[];
  /** M = weight of those that count / weight of all, in [0, 1]. */
  readonly share: number;
  /**
   * What this turn is paid under `shaping`: cap * (M - M of the turn before). The last turn of an episode takes the sum
   * of all back, see `turnReturns`. 0 under `partial`, which pays at the end.
   */
  readonly turnReward: number;
}

/** What one predicate was seen as; `unknown` is never true. */
export type Truth = boolean | "unknown";

/**
 * The reading after one turn, from what each predicate was seen as, in order of the items, and the reading of the turn
 * before (null for the first). What is latched stays; what is `unknown` keeps what it counted before.
 */
export function nextReading(
  spec: MilestoneSpec,
  before: MilestoneReading | null,
  seen: readonly Truth[],
): MilestoneReading {
  const states = spec.items.map((item, index): MilestoneState => {
    const value = seen[index] ?? "unknown";
    const counted = before?.states[index]?.counts ?? false;
    const counts = value === "unknown" ? counted : value || (item.once && counted);
    return { name: item.name, value, counts };
  });
  const all = spec.items.reduce((sum, item) => sum + item.weight, 0);
  const reached = spec.items.reduce((sum, item, index) => sum + (states[index]?.counts === true ? item.weight : 0), 0);
  const share = all === 0 ? 0 : reached / all;
  const turnReward = spec.credit === "shaping" ? spec.cap * (share - (before?.share ?? 0)) : 0;
  return { states, share, turnReward };
}

/** Three-valued: false decides, else one unknown makes it unknown. */
export function allOf(values: readonly Truth[]): Truth {
  if (values.includes(false)) return false;
  return values.includes("unknown") ? "unknown" : true;
}

/** Three-valued: true decides, else one unknown makes it unknown. */
export function anyOf(values: readonly Truth[]): Truth {
  if (values.includes(true)) return true;
  return values.includes("unknown") ? "unknown" : false;
}
