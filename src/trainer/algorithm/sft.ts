/**
 * Supervised training: raise the log-probability of what was demonstrated. L = -mean l over the trained tokens of the
 * batch, hence c = 1/N on each of them and 0 elsewhere.
 */
import type { Coefficients, TrainSequence } from "../../core/policy-backend.ts";
import { trainedTokens } from "../aggregate.ts";

/** Every masked-in token weighs the same, in short and in long demonstrations. */
export function sftCoefficients(sequences: readonly Pick<TrainSequence, "mask">[]): Coefficients {
  const total = sequences.reduce((sum, { mask }) => sum + trainedTokens(mask), 0);
  return sequences.map(({ mask }) => Float32Array.from(mask, (bit) => (bit === 1 ? 1 / total : 0)));
}
