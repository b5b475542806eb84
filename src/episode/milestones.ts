/**
 * Looks at a task's milestones after a turn. The platform looks from outside: files through the sandbox's own port,
 * processes through the kernel, listeners and loopback through programs of the image under a user the agent is not. The
 * agent's shell and PATH have no part in it, nothing is changed and nothing is left running. Looking never fails an
 * episode: what cannot be seen is `unknown`.
 */

import {
  allOf,
  anyOf,
  type MilestoneReading,
  type MilestoneSpec,
  nextReading,
  type Predicate,
  type Truth,
} from "../core/milestone.ts";
import { withDeadline } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { lookAtFile } from "./milestone-file.ts";
import type { Look } from "./milestone-look.ts";
import { lookAtPort, lookAtProcesses, lookAtUrl } from "./milestone-probe.ts";
import { lookIntoDatabase } from "./milestone-query.ts";

/** Of one predicate. */
const PREDICATE_MS = 2_000;
/** What a query may wait for its clean sandbox besides, where the pool is busy. */
const CLAIM_MS = 3_000;

/** `sandbox` is null where none was claimed, so that nothing can be seen. */
export interface MilestoneInput extends Omit<Look, "sandbox"> {
  readonly spec: MilestoneSpec;
  /** Of the turn before; null for the first. */
  readonly before: MilestoneReading | null;
  readonly sandbox: Sandbox | null;
}

/** The milestones as they stand now. Never throws; takes 2 s at most however many there are, with queries 5 s. */
export async function readMilestones(input: MilestoneInput): Promise<MilestoneReading> {
  const { spec, before, sandbox } = input;
  const seen = await Promise.all(
    spec.items.map(async ({ predicate }, index): Promise<Truth> => {
      if (sandbox === null) return "unknown";
      return truthOf(predicate, { ...input, sandbox, attemptId: `${input.attemptId}-${index}` });
    }),
  );
  return nextReading(spec, before, seen);
}

async function truthOf(predicate: Predicate, look: Look): Promise<Truth> {
  switch (predicate.kind) {
    case "all":
      return allOf(await each(predicate.of, look));
    case "any":
      return anyOf(await each(predicate.of, look));
    case "not": {
      const truth = await truthOf(predicate.of, look);
      return truth === "unknown" ? truth : !truth;
    }
    default:
      return withinTime(predicate, look);
  }
}

function each(of: readonly Predicate[], look: Look): Promise<readonly Truth[]> {
  return Promise.all(of.map((part, index) => truthOf(part, { ...look, attemptId: `${look.attemptId}-${index}` })));
}

async function withinTime(predicate: LeafPredicate, look: Look): Promise<Truth> {
  const timeMs = predicate.kind === "query" ? CLAIM_MS + PREDICATE_MS : PREDICATE_MS;
  const late = (): Error => new RangeError(`the predicate had not been evaluated after ${timeMs} ms`);
  try {
    return await withDeadline(look.runtime, timeMs, late, (deadline) =>
      truthOfLeaf(predicate, { ...look, signal: AbortSignal.any([look.signal, deadline]) }),
    );
  } catch {
    return "unknown";
  }
}

type LeafPredicate = Exclude<Predicate, { readonly kind: "all" | "any" | "not" }>;

function truthOfLeaf(predicate: LeafPredicate, look: Look): Promise<Truth> {
  switch (predicate.kind) {
    case "file":
      return lookAtFile(predicate, look);
    case "port":
      return lookAtPort(predicate.port, look);
    case "process":
      return lookAtProcesses(predicate.argv, look);
    case "http":
      return lookAtUrl(predicate, look);
    case "query":
      return lookIntoDatabase(predicate, look);
  }
}
