/** Where generators find the writer of task folders, so that a generator names one folder beside its own. */
export type { DraftFiles, DraftSolution, DraftWrong } from "../../../src/task/draft.ts";
export { drawnFolder } from "../../../src/task/draft.ts";
