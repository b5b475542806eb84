/** A container engine of the tests' own, with the leak check that goes with it; see `engine-process.ts`. */
import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { type EngineKind, engineClient } from "../../src/sandbox/engine/engine-client.ts";
import type { LeakCheck } from "../conformance/case.ts";
import { type EngineProcess, mountsBelow, pause, readText, startEngine } from "./engine-process.ts";

const GONE_MS = 10_000;

export interface EngineFixture extends EngineProcess {
  /** Nothing of a container may be left between two cases: none known to the engine, no helper of one, no mount. */
  readonly leakCheck: LeakCheck;
}

export async function engineFixture(kind: EngineKind): Promise<EngineFixture> {
  const engine = await startEngine(kind);
  return { ...engine, leakCheck: engineLeakCheck(engine.socketPath, engine.folder) };
}

/** Helpers of containers, mounts and containers of this engine; the first sandbox brings up what the engine keeps. */
function engineLeakCheck(socketPath: string, folder: string): LeakCheck {
  return async (provider, request) => {
    await (await provider.create(request, new AbortController().signal)).destroy();
    const client = engineClient(systemRuntime(), socketPath);
    const found = async (): Promise<string[]> => [
      ...(await client.list("sandlot.owner")).map(({ id }) => `container ${id}`),
      ...helpers(folder),
      ...mountsBelow(folder).filter((path) => /\/(merged|shm|rootfs)$/.test(path)),
    ];
    return async () => {
      const end = performance.now() + GONE_MS;
      let left = await found();
      while (left.length > 0 && performance.now() < end) {
        await pause(20);
        left = await found();
      }
      expect(left, "left behind").toEqual([]);
    };
  };
}

/** conmon of Podman, a shim of Docker, and the agents themselves, as far as they name this engine's folder. */
function helpers(folder: string): string[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => ({ pid, words: readText(`/proc/${pid}/cmdline`).replaceAll("\0", " ") }))
    .filter(({ words }) => /conmon|containerd-shim/.test(words) && words.includes(folder))
    .map(({ pid, words }) => `process ${pid} ${words.slice(0, 80)}`);
}
