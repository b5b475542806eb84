/**
 * Joins the token spans of an episode's turns into one trained sequence. Each turn's prompt must begin with exactly the
 * tokens so far, so that what is trained on is what was sampled, in the context it was sampled in. Mask 1 stands on
 * sampled tokens and nowhere else.
 */
import type { TokenSpan } from "../core/environment.ts";
import type { TokenSegment } from "../core/trajectory.ts";

/**
 * `spans[i]` is turn i + 1; null where a turn sampled no tokens. Returns null when no turn did, or when a prompt does not
 * continue the sequence: such an episode has no single sequence to train on.
 */
export function tokenSegment(spans: readonly (TokenSpan | null)[]): TokenSegment | null {
  const last = spans.findLast((span) => span !== null);
  if (last === undefined || last === null) return null;
  const length = last.promptIds.length + last.ids.length;
  const ids = new Int32Array(length);
  const mask = new Uint8Array(length);
  const logprobs = new Float32Array(length);
  const policyVersions = new Int32Array(length);
  const turns = new Int32Array(length);
  let end = 0;
  for (const [index, span] of spans.entries()) {
    if (span === null) continue;
    const start = span.promptIds.length;
    if (start < end || start + span.ids.length > length || !startsWith(span.promptIds, ids, end)) return null;
    ids.set(span.promptIds.subarray(end), end);
    turns.fill(index, end, start);
    policyVersions.fill(span.policyVersion, end, start + span.ids.length);
    ids.set(span.ids, start);
    mask.fill(1, start, start + span.ids.length);
    logprobs.set(span.logprobs, start);
    turns.fill(index + 1, start, start + span.ids.length);
    end = start + span.ids.length;
  }
  return { ids, mask, logprobs, policyVersions, turns, temperature: last.temperature };
}

function startsWith(prompt: Int32Array, sequence: Int32Array, length: number): boolean {
  for (let index = 0; index < length; index += 1) {
    if (prompt[index] !== sequence[index]) return false;
  }
  return true;
}
