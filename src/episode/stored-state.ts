/** The frozen state of a stored episode, built again from its record exactly as it was graded. */
import { Failure } from "../core/errors.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { StoredTrajectory } from "../core/store.ts";
import type { ArtifactRecord } from "../core/trajectory.ts";
import type { Artifacts } from "../core/verifier.ts";
import { artifactsHash } from "./freeze-and-collect.ts";

/**
 * Null where nothing was collected: the episode failed before. Throws `artifact_lost` when what is stored is not what
 * was graded, and what the store throws for a body that is gone.
 */
export async function storedState({ document, body }: StoredTrajectory): Promise<Artifacts | null> {
  const { collected, verification } = document;
  if (collected === null) return null;
  const contents = (records: readonly ArtifactRecord[]): Promise<readonly FileContent[]> =>
    Promise.all(records.map(async ({ path, hash, mode }) => ({ path, bytes: await body(hash), mode })));
  const files = await contents(document.artifacts);
  const visible = await contents(collected.visible);
  const answer = document.answerBlob === null ? null : new TextDecoder().decode(await body(document.answerBlob));
  const { missing } = collected;
  const hash = artifactsHash(answer, files, missing, visible);
  if (verification !== null && verification.artifactsHash !== hash) {
    throw new Failure(
      "artifact_lost",
      `The stored state of episode ${document.id} is not the one that was graded: its hash is ${hash}, not ${verification.artifactsHash}.`,
    );
  }
  return { answer, files, missing, hash, ...(visible.length === 0 ? {} : { visible }) };
}
