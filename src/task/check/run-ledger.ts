/**
 * The runs of one task's scripts, shared between its checks and counted. Equal scripts and variants are run once for
 * each repeat; a run that throws ends like a failed one, so that the other runs and checks go on.
 */
import { createHash } from "node:crypto";
import { toFailure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Script, Task } from "../../core/task.ts";
import type { RunRequest, ScriptRun } from "./check-contract.ts";

/**
 * Runs a script as one episode in fresh sandboxes and grades it, never from memory; null does nothing and submits.
 * `repeat` counts from 0: each meets other hidden inputs, every script of one repeat the same ones.
 * A failure is an outcome; what is thrown counts as not assessed.
 */
export type ScriptRunner = (request: {
  readonly task: Task;
  readonly script: Script | null;
  readonly repeat: number;
  readonly isGradedTwice: boolean;
  readonly signal: AbortSignal;
}) => Promise<ScriptRun>;

/** Who pays for a run: the check that asked first. */
export interface Account {
  episodes: number;
  sandboxMs: number;
}

interface Shared {
  readonly script: Script | null;
  readonly variant: string;
  readonly runs: Promise<ScriptRun>[];
}

export class RunLedger {
  readonly #task: Task;
  readonly #run: ScriptRunner;
  readonly #runtime: Runtime;
  readonly #signal: AbortSignal;
  readonly #shared = new Map<string, Shared>();

  constructor(options: {
    readonly task: Task;
    readonly run: ScriptRunner;
    readonly runtime: Runtime;
    readonly signal: AbortSignal;
  }) {
    this.#task = options.task;
    this.#run = options.run;
    this.#runtime = options.runtime;
    this.#signal = options.signal;
  }

  /** The first `count` runs of a request; those not made yet are made now, at the cost of `account`. */
  runs(request: RunRequest, count: number, account: Account): Promise<readonly ScriptRun[]> {
    const { script, variant } = request;
    const key = `${variant}\n${scriptKey(script)}`;
    const shared = this.#shared.get(key) ?? { script, variant, runs: [] };
    this.#shared.set(key, shared);
    while (shared.runs.length < count) {
      shared.runs.push(this.#one(request, shared.runs.length, account));
    }
    return Promise.all(shared.runs.slice(0, count));
  }

  /**
   * Of the oracle, the alternatives and doing nothing, unchanged: how many graded runs came after a first one, and how
   * many of them gave another reward or another result of a test.
   */
  async flips(): Promise<{ readonly runs: number; readonly flips: number }> {
    const steady = [null, this.#task.oracle, ...this.#task.alternatives].map(scriptKey);
    let runs = 0;
    let flips = 0;
    for (const shared of this.#shared.values()) {
      if (shared.variant !== "plain" || !steady.includes(scriptKey(shared.script))) continue;
      const graded = (await Promise.all(shared.runs)).filter(({ outcome }) => outcome.kind === "graded");
      const [first, ...rest] = graded.map(verdictText);
      runs += rest.length;
      flips += rest.filter((verdict) => verdict !== first).length;
    }
    return { runs, flips };
  }

  async #one(request: RunRequest, repeat: number, account: Account): Promise<ScriptRun> {
    const { script, task = this.#task, isGradedTwice = false } = request;
    if (this.#signal.aborted) return { outcome: { kind: "cancelled", cause: "user" }, tests: [], document: null };
    account.episodes += 1;
    const startedAt = this.#runtime.monotonic();
    try {
      const run = await this.#run({ task, script, repeat, isGradedTwice, signal: this.#signal });
      const { queue: _queue, ...worked } = run.document?.timing ?? {};
      account.sandboxMs += Object.values(worked).reduce((sum, ms) => sum + ms, 0);
      return run;
    } catch (error) {
      account.sandboxMs += this.#runtime.monotonic() - startedAt;
      const { code, message } = toFailure(error);
      return { outcome: { kind: "failed", cause: "infra_before", failure: code, message }, tests: [], document: null };
    }
  }
}

/** Equal for scripts that do the same. */
function scriptKey(script: Script | null): string {
  if (script === null) return "nop";
  const hash = createHash("sha256").update(JSON.stringify([script.answer, script.commands]));
  for (const { path, bytes, mode } of script.files) hash.update(`\n${path} ${mode} ${bytes.length}\n`).update(bytes);
  return hash.digest("hex");
}

function verdictText({ outcome, tests }: ScriptRun): string {
  const results = tests.map(({ id, status }) => `${id} ${status}`).sort();
  return [outcome.kind === "graded" ? outcome.reward : outcome.kind, ...results].join("\n");
}
