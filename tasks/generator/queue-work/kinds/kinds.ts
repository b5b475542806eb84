/** All kinds of jobs. The order is part of what a seed gives: a new kind goes to the end. */
import type { DrawKind } from "../job.ts";
import { drawAnswers } from "./answers.ts";
import { drawFanOut } from "./fan-out.ts";
import { drawLanes } from "./lanes.ts";
import { drawSecondTry } from "./second-try.ts";
import { drawStages } from "./stages.ts";
import { drawTotals } from "./totals.ts";
import { drawWindows } from "./windows.ts";

export const KINDS: readonly DrawKind[] = [
  drawTotals,
  drawFanOut,
  drawWindows,
  drawStages,
  drawAnswers,
  drawLanes,
  drawSecondTry,
];
