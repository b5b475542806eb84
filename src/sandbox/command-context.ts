/** What every command and file operation of a sandbox needs: its connection, its clock and what its image says. */
import type { Runtime } from "../core/runtime.ts";
import type { AgentClient } from "./agent-client.ts";

/** What a sandbox hands to each command it runs. */
export interface CommandContext {
  readonly client: AgentClient;
  readonly runtime: Runtime;
  readonly envVars: Readonly<Record<string, string>>;
  /** The sandbox has one id only, so that nobody but root exists in it. */
  readonly hasOnlyRoot?: boolean;
  /** Where the image's maker wants commands to run; absent: `/`, and a shell at its user's home. */
  readonly workdir?: string;
  /** Ends a sandbox whose agent no longer answers. */
  kill(): void;
}
