/** The suites and fakes an outside adapter tests itself with: `sandlot/testing`. It needs vitest and fast-check. */
export { fakeProvider, fakeSandboxPool } from "../../src/sandbox/fake-sandbox.ts";
export type { CaseContext, ConformanceCase, LeakCheck } from "./case.ts";
export { type SandboxConformanceOptions, sandboxConformance } from "./sandbox.ts";
export { SMALL_INTERNET } from "./small-internet.ts";
export { storeConformance } from "./store.ts";
