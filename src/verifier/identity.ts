/** The identity of a verdict: all it depends on, as one hash. Equal identity, equal verdict, so it may be reused. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../core/json.ts";

export interface VerdictInputs {
  /** SHA-256 over answer and files. */
  readonly artifactsHash: string;
  readonly verifierHash: string;
  readonly imageHash: string;
  readonly gradingSeed: bigint;
  /** `Verifier.version`. */
  readonly version: number;
}

/** SHA-256 of the inputs, in lower-case hex. Pure. */
export function verdictIdentity(inputs: VerdictInputs): string {
  const { artifactsHash, verifierHash, imageHash, gradingSeed, version } = inputs;
  const text = canonicalJson({ artifactsHash, verifierHash, imageHash, gradingSeed: gradingSeed.toString(), version });
  return createHash("sha256").update(text).digest("hex");
}
