/**
 * The helper process of one namespace provider and the images it mounts: started with the first sandbox, started anew
 * when it has died, and ended with the provider.
 */
import type { Socket } from "node:net";
import { buildNative } from "../../native/build.ts";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import { buildHostImage } from "./host-image.ts";
import type { ImageStore } from "./image/image-contract.ts";
import { LayerStacks } from "./layer-stack.ts";
import type { Engine } from "./machine.ts";
import { sweepLeftovers } from "./sweep.ts";
import { runParent, startZygote } from "./zygote.ts";

export interface EngineSourceOptions {
  readonly runtime: Runtime;
  readonly images: ImageStore;
  readonly allowsFaults: boolean;
  readonly blanksMax?: number | undefined;
  /** A helper built otherwise; absent: the one of this source, built on demand. */
  readonly helperPath?: string | undefined;
  /** Told of each helper that was started. */
  readonly onStart: (engine: Engine) => void;
}

export interface EngineSource {
  /** The running helper, or a fresh one. Throws `environment_missing` with what this machine lacks. */
  ensure(): Promise<Engine>;
  /** With a connection for one creation; a helper that has died since is replaced once. */
  connect(): Promise<{ readonly engine: Engine; readonly socket: Socket }>;
  /** Ends the helper; later calls throw `sandbox_unavailable`. Idempotent. */
  close(endSandboxes: () => Promise<unknown>): Promise<void>;
}

/** Throws `environment_missing` where there are no namespaces at all. */
export function requireLinux(): void {
  if (process.platform !== "linux")
    throw new Failure(
      "environment_missing",
      "The namespace provider needs Linux; run Sandlot on a Linux machine or in a virtual one.",
    );
}

/** One helper, which the caller must close. */
export async function startEngine(options: Omit<EngineSourceOptions, "onStart">): Promise<Engine> {
  const { runtime, images, allowsFaults, blanksMax = 0 } = options;
  requireLinux();
  const path = options.helperPath ?? (await buildNative("helper")).path;
  /* Makes the store's folder too, without which there is nothing to mount. */
  buildHostImage(runtime, images.folder, path);
  const zygote = await startZygote(path, { store: images.folder, allowsFaults, blanksMax });
  return { zygote, stacks: zygote.layers === null ? null : new LayerStacks(zygote.layers) };
}

export function engineSource(options: EngineSourceOptions): EngineSource {
  let engine: Promise<Engine> | null = null;
  let isClosed = false;

  const start = async (): Promise<Engine> => {
    try {
      await sweepLeftovers(options.runtime, runParent());
      const started = await startEngine(options);
      options.onStart(started);
      return started;
    } catch (error) {
      engine = null;
      throw error;
    }
  };
  const ensure = async (): Promise<Engine> => {
    if (isClosed) throw new Failure("sandbox_unavailable", "The sandbox provider was closed.");
    const seen = engine;
    const running = await seen?.catch(() => null);
    if (running?.zygote.isAlive()) return running;
    /* Of several creations that find the helper dead, one starts the next. */
    if (engine === seen || engine === null) engine = start();
    return engine;
  };
  return {
    ensure,
    connect: async () => {
      const first = await ensure();
      try {
        return { engine: first, socket: await first.zygote.connect() };
      } catch {
        const second = await ensure();
        return { engine: second, socket: await second.zygote.connect() };
      }
    },
    close: async (endSandboxes) => {
      isClosed = true;
      const running = await engine?.catch(() => null);
      engine = null;
      await endSandboxes();
      await running?.zygote.close();
    },
  };
}
