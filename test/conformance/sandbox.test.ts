/** The namespace provider passes the suite, and leaves nothing behind. */
import { afterAll, beforeAll } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "../abuse/leaks.ts";
import { sandboxConformance } from "./sandbox.ts";

let baseline: LeakBaseline;

beforeAll(async () => {
  baseline = await leakBaseline();
});

sandboxConformance(() => namespaceProvider({ runtime: systemRuntime() }));

afterAll(async () => {
  await expectNoLeaks(baseline);
});
