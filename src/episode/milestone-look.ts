/** Where and how long a predicate of a milestone may look: the agent's sandbox, and clean ones from the pool. */
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";

/** What a predicate may look with. */
export interface Look {
  readonly task: Task;
  /** The agent's own. */
  readonly sandbox: Sandbox;
  /** Lends the clean sandbox in which a database is asked. */
  readonly pool: SandboxPool;
  readonly runtime: Runtime;
  /** Unique to this look, for it names the clean sandbox. */
  readonly attemptId: string;
  readonly fence: number;
  /** Ends with the predicate's time. */
  readonly signal: AbortSignal;
}
