/** The option that chooses what makes sandboxes. The names stand here too, as the application is loaded when a command runs. */
import { Option } from "commander";
import type { ProviderName } from "../app-provider.ts";

/** Every provider's name, the default first. */
export const PROVIDER_NAMES: readonly ProviderName[] = ["namespace", "bwrap", "docker", "podman"];

/** `--provider NAME`. */
export function providerOption(): Option {
  return new Option("--provider <name>", "what makes the sandboxes").choices(PROVIDER_NAMES).default("namespace");
}
