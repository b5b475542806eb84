/** The namespace provider passes the suite, and leaves nothing behind after any case. */
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { helperLeakCheck } from "../abuse/leaks.ts";
import { sandboxConformance } from "./sandbox.ts";
import { SMALL_INTERNET } from "./small-internet.ts";

sandboxConformance(() => namespaceProvider({ runtime: systemRuntime(), proxy: SMALL_INTERNET }), {
  leakCheck: helperLeakCheck,
});
