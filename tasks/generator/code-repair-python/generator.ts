/**
 * Repairs of Python libraries: a small repository with one to three faults, a bug report, a visible suite, and hidden
 * tests of what was wrong (unit), its edges (boundary) and all that worked before (integration, which takes all).
 *
 * No milestones: a repair is two or three turns of the oracle, and no file on the way is evidence of one.
 */
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { drawRepair, REPAIR_DIALS } from "../support/repair/compose.ts";
import { PYTHON } from "../support/repair/python.ts";
import { WORLDS } from "./worlds/worlds.ts";

export const generator: FolderGenerator = {
  name: "code-repair-python",
  family: "code-repair-python",
  version: 1,
  dials: REPAIR_DIALS,
  draw: ({ dials: { faults = 1, distance = 1, files = 0 }, random }) =>
    drawRepair(PYTHON, WORLDS, { faults, distance, files }, random),
};
