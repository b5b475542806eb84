/** The namespace provider passes the suite, and leaves nothing behind after any case. */
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { helperLeakCheck } from "../abuse/leaks.ts";
import { sandboxConformance } from "./sandbox.ts";

sandboxConformance(() => namespaceProvider({ runtime: systemRuntime() }), { leakCheck: helperLeakCheck });
