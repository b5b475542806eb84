/**
 * Evidence of an episode, recorded outside the agent's reach: what changed in the acting sandbox since the agent found
 * it, what was started and touched during which turn, what was alive at the freeze, what the network was asked for.
 * Capturing never fails an episode: what could not be had is left out, and why is kept in `problems`.
 */
import { hash } from "node:crypto";
import { toFailure } from "../core/errors.ts";
import type { Evidence, StateChange, TraceEvent } from "../core/finding.ts";
import type { Runtime } from "../core/runtime.ts";
import type { ProcessInfo, Sandbox, SandboxTrace } from "../core/sandbox.ts";
import type { FileChange, FileContent } from "../core/sandbox-files.ts";
import { isBelow } from "../core/sandbox-path.ts";
import type { Task } from "../core/task.ts";
import type { Artifacts } from "../core/verifier.ts";

/** Changes that are looked for; a sandbox with more tells how many were left out as "at least so many". */
const DIFF_ENTRIES_MAX = 50_000;
const CHANGES_MAX = 2_000;
const HEAD_BYTES = 4_096;
/** Files outside the artifacts of which owner, bits and head are read. */
const LOOKED_AT_MAX = 64;
/** Written by the platform itself: whole outputs that were cut for the policy. */
const PLATFORM_FOLDER = "/run/sandlot/";

/** Where what grades, or what states a result, lies in the field's set-ups; the agent has no business there. */
export const WATCHED_PATHS: readonly string[] = [
  "/tests",
  "/solution",
  "/logs/verifier",
  "/run/verify",
  "/run/runner",
  "/artifacts",
];

/** What an agent found: paths with what lay there, as the sandbox's own diff tells it. */
type Baseline = ReadonlyMap<string, string>;

/** What a recorder must know of the episode. */
export interface RecorderOptions {
  readonly task: Task;
  readonly extraFiles: readonly FileContent[];
  readonly runtime: Runtime;
}

/** Records of one acting sandbox, from the end of its set-up to its freeze. */
export class EvidenceRecorder {
  readonly #sandbox: Sandbox;
  readonly #options: RecorderOptions;
  readonly #startedAt: number;
  readonly #problems: string[] = [];
  #baseline: Baseline = new Map();
  #trace: SandboxTrace | null = null;
  #processes: readonly ProcessInfo[] = [];

  private constructor(sandbox: Sandbox, options: RecorderOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.#startedAt = options.runtime.monotonic();
  }

  /** Begins where set-up has ended and no command of the agent has run. Never throws. */
  static async open(sandbox: Sandbox, options: RecorderOptions): Promise<EvidenceRecorder> {
    const recorder = new EvidenceRecorder(sandbox, options);
    await recorder.#try("baseline", async () => {
      recorder.#baseline = await foundState(sandbox, options);
    });
    await recorder.#try("trace", async () => {
      const { task } = options;
      recorder.#trace = (await sandbox.trace?.([...WATCHED_PATHS, ...(task.protectedPaths ?? [])])) ?? null;
    });
    return recorder;
  }

  /** Why parts of the evidence are missing; empty when none are. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Looks at what is alive, right before the freeze ends it. Never throws. */
  async beforeFreeze(): Promise<void> {
    await this.#try("processes", async () => {
      this.#processes = await this.#sandbox.processes();
    });
  }

  /**
   * The evidence of a sandbox that was frozen, or is gone. `turnStarts` are the moments by the runtime's monotonic clock
   * at which each turn began to be executed. Never throws.
   */
  async capture(artifacts: Artifacts | null, turnStarts: readonly number[]): Promise<Evidence> {
    let changes: StateChange[] = [];
    let changesDropped = 0;
    await this.#try("changes", async () => {
      /* Where only the answer counts nobody has frozen it. */
      if (this.#options.task.contract.state === "answer") await this.#sandbox.freeze();
      const all = await this.#changed();
      const kept = all.slice(0, CHANGES_MAX);
      changesDropped = all.length - kept.length;
      changes = await this.#looked(kept, artifacts);
    });
    const log = (await this.#trace?.log()) ?? { startedAt: this.#startedAt, events: [], dropped: 0 };
    return {
      changes,
      changesDropped,
      events: log.events.map((event): TraceEvent => {
        const at = log.startedAt + event.atMs;
        return { ...event, atMs: Math.max(0, at - this.#startedAt), turn: turnAt(turnStarts, at) };
      }),
      eventsDropped: log.dropped,
      isTraced: this.#trace !== null,
      processes: this.#processes,
      network: this.#sandbox.networkLog(),
    };
  }

  /** What differs from the state that was found; what grades and what lies outside the work folder first. */
  async #changed(): Promise<FileChange[]> {
    const now = await this.#sandbox.diff({ entriesMax: DIFF_ENTRIES_MAX });
    const changed: FileChange[] = [];
    const seen = new Set<string>();
    for (const change of now) {
      seen.add(change.path);
      if (change.path.startsWith(PLATFORM_FOLDER) || change.path === PLATFORM_FOLDER.slice(0, -1)) continue;
      const found = this.#baseline.get(change.path);
      if (found === stateOf(change)) continue;
      const wasThere = found !== undefined && !found.startsWith("removed");
      changed.push(wasThere && change.change === "added" ? { ...change, change: "modified" } : change);
    }
    for (const path of this.#baseline.keys())
      if (!seen.has(path)) changed.push({ path, change: "removed", kind: null, bytes: null, sha256: null });
    const { task } = this.#options;
    const watched = [...WATCHED_PATHS, ...(task.protectedPaths ?? [])];
    const rank = ({ path, kind }: FileChange): number => {
      if (watched.some((one) => isBelow(path, one))) return 0;
      if (kind === "folder") return 3;
      return isBelow(path, task.workdir) ? 2 : 1;
    };
    return changed.sort((a, b) => rank(a) - rank(b));
  }

  async #looked(changes: readonly FileChange[], artifacts: Artifacts | null): Promise<StateChange[]> {
    const taken = new Map((artifacts?.files ?? []).map((file) => [file.path, file]));
    let looks = LOOKED_AT_MAX;
    const looked: StateChange[] = [];
    for (const change of changes) {
      const file = taken.get(change.path);
      if (change.kind === "file" && file !== undefined) {
        looked.push(stateChange(change, file.mode, null, headOf(file.bytes)));
      } else if (change.kind === null || change.kind === "folder" || looks === 0) {
        looked.push(stateChange(change, null, null, null));
      } else {
        looks -= 1;
        looked.push(await this.#look(change));
      }
    }
    return looked;
  }

  async #look(change: FileChange): Promise<StateChange> {
    const { files } = this.#sandbox;
    const status = await files.stat(change.path);
    const mode = status.ok ? status.value.mode : null;
    const uid = status.ok ? status.value.uid : null;
    if (change.kind !== "file") return stateChange(change, mode, uid, null);
    const head = await files.readRange(change.path, { offset: 0, bytes: HEAD_BYTES });
    return stateChange(change, mode, uid, head.ok ? headOf(head.value) : null);
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#problems.push(`${what}: ${toFailure(error).message.slice(0, 300)}`);
    }
  }
}

/** Without a set-up the platform knows what it placed; else the sandbox is asked what there is. */
async function foundState(sandbox: Sandbox, { task, extraFiles }: RecorderOptions): Promise<Baseline> {
  const found = new Map<string, string>();
  if (task.setup !== null) {
    for (const change of await sandbox.diff({ entriesMax: DIFF_ENTRIES_MAX })) found.set(change.path, stateOf(change));
    return found;
  }
  const files = [...task.files, ...extraFiles];
  for (const path of [task.workdir, ...files.map((file) => file.path)])
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      found.set(path.slice(0, at), "folder");
  found.set(task.workdir.replace(/(.)\/+$/, "$1"), "folder");
  for (const { path, bytes } of files) found.set(path, `file ${bytes.length} ${hash("sha256", bytes, "hex")}`);
  return found;
}

/** Equal for equal content; a folder is what it is, whatever its bits. */
function stateOf(change: FileChange): string {
  if (change.change === "removed") return "removed";
  return change.kind === "file" ? `file ${change.bytes ?? 0} ${change.sha256 ?? "-"}` : String(change.kind);
}

function stateChange(change: FileChange, mode: number | null, uid: number | null, head: string | null): StateChange {
  const { path, bytes, sha256 } = change;
  return { path, change: change.change, kind: change.kind ?? "file", mode, uid, bytes, sha256, head };
}

/** The beginning of a text; null for what is none. */
function headOf(bytes: Uint8Array): string | null {
  const head = bytes.subarray(0, HEAD_BYTES);
  if (head.includes(0)) return null;
  const text = new TextDecoder().decode(head);
  /* A character that the cut went through is no sign of a binary file. */
  return text.slice(0, -1).includes("\ufffd") ? null : text;
}

/** From 1; 0 before the first. */
function turnAt(starts: readonly number[], at: number): number {
  let turn = 0;
  while (turn < starts.length && (starts[turn] ?? Number.POSITIVE_INFINITY) <= at) turn += 1;
  return turn;
}
