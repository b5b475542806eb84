/** Case 64: the pool on a provider. */
import type { ConformanceCase } from "./case.ts";

export const POOL_CASES: readonly ConformanceCase[] = [];
