/** All kinds of request. */
import type { RequestKind } from "../request.ts";
import { MERGE } from "./merge.ts";
import { REFUND } from "./refund.ts";

export const KINDS: readonly RequestKind[] = [MERGE, REFUND];
