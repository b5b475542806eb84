/**
 * Where generators find the writer of task folders; it lives in the core, since importers use it too. Kept as a door of
 * its own so that a generator names one folder beside its own.
 */
export type { Draft, DraftFile, DraftFiles, DraftSolution, DraftWrong } from "../../../src/core/task-draft.ts";
export { drawnFolder } from "../../../src/core/task-draft.ts";
