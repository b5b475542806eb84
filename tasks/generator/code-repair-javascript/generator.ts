/**
 * Repairs of JavaScript libraries (ES modules, node:test): a small repository with one to three faults, many of them
 * of what happens at the same time, a bug report, a visible suite, and hidden tests of what was wrong (unit), its edges
 * (boundary) and all that worked before (integration, which takes all).
 *
 * No milestones: a repair is two or three turns of the oracle, and no file on the way is evidence of one.
 */
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { drawRepair, REPAIR_DIALS } from "../support/repair/compose.ts";
import { JAVASCRIPT } from "../support/repair/javascript.ts";
import { WORLDS } from "./worlds/worlds.ts";

export const generator: FolderGenerator = {
  name: "code-repair-javascript",
  family: "code-repair-javascript",
  version: 1,
  dials: REPAIR_DIALS,
  draw: ({ dials: { faults = 1, distance = 1, files = 0 }, random }) =>
    drawRepair(JAVASCRIPT, WORLDS, { faults, distance, files }, random),
};
