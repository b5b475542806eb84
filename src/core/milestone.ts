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

export interface Milestone {
  /** Kebab-case, unique in the task. */
  readonly name: string;
  readonly predicate: Predicate;
  /** > 0. */
  readonly weight: number;
  /** True: reached once, reached for good. False: follows the state. */
  readonly once: boolean;
}

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
  /** F of this turn: cap * (M - M of the turn before); the sum over the turns is taken back by the last one under `shaping`. */
  readonly turnReward: number;
}
