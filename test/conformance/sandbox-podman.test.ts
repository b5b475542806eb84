/** Containers of a Podman engine pass the suite, and leave neither a container nor a helper of one behind. */
import { afterAll } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { dockerProvider } from "../../src/sandbox/provider-docker.ts";
import { engineFixture } from "../support/engine-fixture.ts";
import { sandboxConformance } from "./sandbox.ts";
import { engineCases } from "./sandbox-engine.ts";
import { SMALL_INTERNET } from "./small-internet.ts";

const engine = await engineFixture("podman");
afterAll(() => engine.stop());

sandboxConformance(
  () => dockerProvider({ runtime: systemRuntime(), socketPath: engine.socketPath, proxy: SMALL_INTERNET }),
  {
    skip: engine.reason,
    leakCheck: engine.leakCheck,
  },
);

engineCases(engine);
