/**
 * The sandbox the agent acts in. It is claimed by the first call that needs one, then made ready: work folder, the
 * task's files, a script's files, set-up. A task whose only action is an answer never claims it. A set-up that fails is
 * the task's fault, not the policy's. Whoever opens this closes it; closing is idempotent.
 */
import { Failure } from "../core/errors.ts";
import { healthcheckCommand } from "../core/healthcheck.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Isolation, Sandbox, SandboxInfo, SandboxStats } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task } from "../core/task.ts";
import type { ResourceCurve } from "../core/trajectory.ts";
import { EvidenceRecorder } from "./evidence.ts";
import { type CurveSampler, sampleCurve } from "./resource-curve.ts";
import { packLayer } from "./turn-layer.ts";

const PREPARE_MS = 60_000;
const SETUP_OUTPUT_BYTES_MAX = 64 * 1024;
const SETUP_DETAIL_CHARACTERS = 600;

export interface ActingSandboxOptions {
  readonly task: Task;
  readonly extraFiles: readonly FileContent[];
  readonly attemptId: string;
  readonly fence: number;
  readonly isolationMin: Isolation;
  readonly pool: SandboxPool;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

export class ActingSandbox {
  readonly #options: ActingSandboxOptions;
  #claimed: Promise<Sandbox> | null = null;
  #sandbox: Sandbox | null = null;
  #closed = false;
  bootMs = 0;
  setupMs = 0;
  info: SandboxInfo | null = null;
  stats: SandboxStats | null = null;
  curve: ResourceCurve | null = null;
  /** From the end of the set-up on; null where no sandbox was claimed. */
  recorder: EvidenceRecorder | null = null;
  #sampler: CurveSampler | null = null;

  constructor(options: ActingSandboxOptions) {
    this.#options = options;
  }

  get isClaimed(): boolean {
    return this.#claimed !== null;
  }

  /** The prepared sandbox; the first call claims it. Throws what the pool throws, and `task_invalid` for a bad set-up. */
  claim(): Promise<Sandbox> {
    this.#claimed ??= this.#prepare();
    return this.#claimed;
  }

  /** What the sandbox holds of its own right now, or null where none was claimed. */
  async packLayer(): Promise<Uint8Array | null> {
    return this.#sandbox === null || this.#closed ? null : packLayer(this.#sandbox);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const sandbox = this.#sandbox;
    if (sandbox === null) return;
    this.stats ??= await sandbox.stats().catch(() => null);
    this.curve ??= this.#sampler?.end(this.stats) ?? null;
    await sandbox.destroy();
  }

  async #prepare(): Promise<Sandbox> {
    const { runtime, pool, signal } = this.#options;
    const startedAt = runtime.monotonic();
    const sandbox = await pool.claim(this.#request(), signal);
    this.#sandbox = sandbox;
    this.#sampler = sampleCurve(sandbox, runtime);
    this.info = sandbox.info;
    this.bootMs = runtime.monotonic() - startedAt;
    if (this.#closed) {
      this.#sampler.end(null);
      await sandbox.destroy();
      throw new Failure("cancelled", "The episode ended while its sandbox was being claimed.");
    }
    const readyAt = runtime.monotonic();
    await this.#placeFiles(sandbox);
    await this.#setUp(sandbox);
    await this.#awaitHealth(sandbox);
    const { task, extraFiles } = this.#options;
    if (task.agentNetwork !== undefined) await sandbox.setNetwork(task.agentNetwork);
    this.recorder = await EvidenceRecorder.open(sandbox, { task, extraFiles, runtime });
    this.setupMs = runtime.monotonic() - readyAt;
    return sandbox;
  }

  #request() {
    const { task, attemptId, fence, isolationMin } = this.#options;
    return {
      attemptId,
      role: "agent",
      fence,
      image: task.image,
      isolationMin,
      limits: task.resources,
      network: task.network,
      envVars: task.envVars,
      labels: { task: task.key },
      // Longer than the episode's own deadline, so that the episode ends by its own clock and not by losing this.
      lifetimeMs: task.limits.episodeMs + PREPARE_MS,
    };
  }

  async #placeFiles(sandbox: Sandbox): Promise<void> {
    const { task, extraFiles, signal } = this.#options;
    const made = await sandbox.exec(
      ["/bin/sh", "-c", 'mkdir -p "$1" && chown "$2" "$1"', "sh", task.workdir, task.agentUser],
      { timeoutMs: PREPARE_MS, outputBytesMax: SETUP_OUTPUT_BYTES_MAX, signal },
    );
    if (made.exitCode !== 0) throw this.#setupFailure(`its work folder ${task.workdir} could not be made`, made.stderr);
    for (const file of [...task.files, ...extraFiles]) {
      const isAgents = file.path.startsWith(`${task.workdir.replace(/\/$/, "")}/`);
      const placed = await sandbox.files.write(file, { user: isAgents ? task.agentUser : "root" });
      if (!placed.ok) throw this.#setupFailure(`the file ${file.path} could not be placed: ${placed.message}`, null);
    }
  }

  async #setUp(sandbox: Sandbox): Promise<void> {
    const { task, signal } = this.#options;
    if (task.setup === null) return;
    const result = await sandbox.exec(task.setup, {
      cwd: task.workdir,
      envVars: task.envVars,
      timeoutMs: Math.max(PREPARE_MS, task.limits.commandMs),
      outputBytesMax: SETUP_OUTPUT_BYTES_MAX,
      signal,
    });
    if (signal.aborted)
      throw new Failure("cancelled", "The episode was stopped during set-up.", { cause: signal.reason });
    if (result.exitCode === 0) return;
    const end = result.exitCode === null ? result.verdict : `exit ${result.exitCode}`;
    throw this.#setupFailure(`its set-up ended with ${end}`, result.stderr.length > 0 ? result.stderr : result.stdout);
  }

  /** A service that set-up started and that never answered is a broken environment, not a policy that failed. */
  async #awaitHealth(sandbox: Sandbox): Promise<void> {
    const { task, signal } = this.#options;
    if (task.healthcheck === undefined) return;
    const { argv, timeoutMs } = healthcheckCommand(task.healthcheck);
    const result = await sandbox.exec(argv, {
      cwd: task.workdir,
      envVars: task.envVars,
      timeoutMs,
      outputBytesMax: SETUP_OUTPUT_BYTES_MAX,
      signal,
    });
    if (signal.aborted)
      throw new Failure("cancelled", "The episode was stopped during its health check.", { cause: signal.reason });
    if (result.exitCode === 0) return;
    const said = new TextDecoder().decode(result.stderr).trim().slice(-SETUP_DETAIL_CHARACTERS);
    throw new Failure("sandbox_unavailable", `Task ${task.key}: ${said === "" ? result.verdict : said}`);
  }

  #setupFailure(what: string, output: Uint8Array | null): Failure {
    const detail = output === null ? "" : new TextDecoder().decode(output).trim().slice(-SETUP_DETAIL_CHARACTERS);
    return new Failure(
      "task_invalid",
      `Task ${this.#options.task.key}: ${what}${detail === "" ? "." : `:\n${detail}`}`,
    );
  }
}
