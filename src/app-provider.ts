/** The one place that opens a sandbox provider by its name. */
import type { Runtime } from "./core/runtime.ts";
import type { SandboxProvider } from "./core/sandbox.ts";
import { PROVIDERS, type Recipe } from "./run/recipe.ts";
import type { ImageStore } from "./sandbox/image/image-contract.ts";
import { bwrapProvider } from "./sandbox/provider-bwrap.ts";
import { dockerProvider } from "./sandbox/provider-docker.ts";
import { namespaceProvider } from "./sandbox/provider-namespace.ts";

export { PROVIDERS };
/** One of `PROVIDERS`. */
export type ProviderName = Recipe["sandbox"]["provider"];

export interface ProviderParts {
  readonly runtime: Runtime;
  /** Stays the caller's to close, after the provider. */
  readonly images: ImageStore;
  /** Of an engine that does not listen where it usually does. */
  readonly socketPath?: string | undefined;
}

/** The caller closes it. What this machine lacks for it is told by the first creation. */
export function openProvider(name: ProviderName, { runtime, images, socketPath }: ProviderParts): SandboxProvider {
  if (name === "bwrap") return bwrapProvider({ runtime });
  if (name === "namespace") return namespaceProvider({ runtime, images });
  return dockerProvider({ runtime, engine: name, images, ...(socketPath === undefined ? {} : { socketPath }) });
}
