/** The bodies that a trajectory names: what must be stored with it, and what reading it whole takes. */
import type { Trajectory } from "./trajectory.ts";

/** Each body that was shown, answered, collected or recorded as evidence, with the field that names it. Pure. */
export function* namedBodies(document: Trajectory): Iterable<readonly [field: string, hash: string]> {
  for (const [position, node] of document.nodes.entries()) yield [`nodes[${position}].body`, node.body];
  for (const [position, turn] of document.turns.entries()) {
    yield [`turns[${position}].textBlob`, turn.textBlob];
    if (turn.responseBlob !== null) yield [`turns[${position}].responseBlob`, turn.responseBlob];
    for (const [call, { observation }] of turn.toolCalls.entries()) {
      yield [`turns[${position}].toolCalls[${call}].observation.contentBlob`, observation.contentBlob];
      yield [`turns[${position}].toolCalls[${call}].observation.rawBlob`, observation.rawBlob];
    }
  }
  for (const [position, artifact] of document.artifacts.entries()) yield [`artifacts[${position}].hash`, artifact.hash];
  for (const [position, file] of (document.collected?.visible ?? []).entries())
    yield [`collected.visible[${position}].hash`, file.hash];
  if (document.answerBlob !== null) yield ["answerBlob", document.answerBlob];
  if (document.evidenceBlob !== null) yield ["evidenceBlob", document.evidenceBlob];
}
