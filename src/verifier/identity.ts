/** The identity of a verdict: all it depends on, as one hash. Equal identity, equal verdict, so it may be reused. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../core/json.ts";

/** All that a verdict depends on. */
export interface VerdictInputs {
  /** SHA-256 over answer and files. */
  readonly artifactsHash: string;
  readonly verifierHash: string;
  /** The task's own files, set-up and resources are part of the sandbox in which the artifacts run again. */
  readonly agentHash: string;
  readonly imageHash: string;
  readonly gradingSeed: bigint;
  /** `Verifier.version`. */
  readonly version: number;
  /** Who is asked about the task's rubric: another model may answer otherwise. Absent for a task without a judge. */
  readonly judge?: { readonly model: string; readonly endpoint: string } | undefined;
}

/** SHA-256 of the inputs, in lower-case hex. Pure. */
export function verdictIdentity(inputs: VerdictInputs): string {
  const text = canonicalJson({ ...inputs, gradingSeed: inputs.gradingSeed.toString() });
  return createHash("sha256").update(text).digest("hex");
}
