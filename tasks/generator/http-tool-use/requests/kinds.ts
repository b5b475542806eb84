/** All kinds of request. */
import type { RequestKind } from "../request.ts";
import { CLOSE } from "./close.ts";
import { MERGE } from "./merge.ts";
import { REFUND } from "./refund.ts";
import { RELABEL } from "./relabel.ts";
import { REPLACE } from "./replace.ts";
import { RESCHEDULE } from "./reschedule.ts";

export const KINDS: readonly RequestKind[] = [CLOSE, MERGE, REFUND, RELABEL, REPLACE, RESCHEDULE];
