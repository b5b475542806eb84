/**
 * A sandbox is the isolated machine one episode acts in; it serves one episode or one verifier and is then destroyed.
 * This file is the contract; providers live in `sandbox/`.
 *
 * A slow, failing or greedy command is a value. A lost sandbox is a thrown Failure. Every fact has its own field.
 */

import type { ExecOptions, ExecResult, SandboxProcess, Shell, ShellOptions } from "./exec.ts";
import type { FileChange, SandboxFiles } from "./sandbox-files.ts";

/** Ordered, weakest first. `namespace` shares the host's kernel and says so. */
export type Isolation = "process" | "namespace" | "gvisor" | "vm";

/**
 * What a sandbox may reach, always through the provider's proxy and never another way. An entry of `hosts` is
 * `example.org`, `*.example.org` (every name below it, not itself), an address, or one of these with `:port`; without a
 * port it means 80 and 443. `open` is every public name and address at those ports, and `hosts` besides. Addresses that
 * are not public are refused in every mode. A provider's routes are reached only where `hosts` names them.
 */
export type NetworkPolicy =
  | { readonly mode: "off" }
  | { readonly mode: "allow-list"; readonly hosts: readonly string[] }
  | { readonly mode: "open"; readonly hosts?: readonly string[] };

/** Why the proxy refused, or what became of what it allowed. */
export type NetworkReason =
  /** The name or address is not in the policy. */
  | "not_listed"
  /** The name is in the policy, the port is not. */
  | "port_not_listed"
  /** The name has, or is, an address that is not public: loopback, private, cloud metadata, … */
  | "address_not_public"
  /** The host is spelled in a way no honest client uses, such as 0x7f.1 or a trailing dot. */
  | "host_malformed"
  /** The Host header names another host than the request. */
  | "host_mismatch"
  /** The TLS client names no host, another one, or hides it. */
  | "server_name_mismatch"
  /** The tunnel does not carry TLS. */
  | "not_tls"
  /** The request can be read in two ways, or is none. */
  | "request_malformed"
  /** The request asks for a websocket or another protocol. */
  | "upgrade"
  /** The sandbox has used up its bytes, time or connections. */
  | "limit"
  /** The name has no address. */
  | "unresolved"
  /** The host was allowed and did not answer. */
  | "unreachable"
  /** The policy changed, or the sandbox ended, while it was open. */
  | "closed";

/** One decision of a sandbox's proxy. Host names are hostile text. Headers, paths and secrets are never kept. */
export interface NetworkAttempt {
  /** UTC milliseconds. */
  readonly atMs: number;
  /** As asked for, at most 256 characters; empty when the request named none. */
  readonly host: string;
  readonly port: number;
  /** What was connected to; null when nothing was, and for a route, whose target stays on the host. */
  readonly address: string | null;
  readonly decision: "allowed" | "refused";
  readonly reason: NetworkReason | null;
  /** Bytes to the sandbox and from it, up to now, heads included as they were relayed. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What a sandbox tried to reach, in order. Beyond a bound the middle is left out and counted. */
export interface NetworkLog {
  readonly attempts: readonly NetworkAttempt[];
  readonly attemptsDropped: number;
  readonly allowed: number;
  readonly refused: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/**
 * `host` (a curated read-only view of the machine's own system folders), `debian:SUITE+PKG,…`, `oci:REF`,
 * `dockerfile:FOLDER`, `folder:PATH`, `tar:PATH`, `recipe:NAME` (a file under `images/`), or `sha256:HASH` of one built before.
 */
export type ImageReference = string;

/** What a sandbox may use at most; positive numbers, whole but for `cpus`. */
export interface SandboxLimits {
  /** Share of processor time; 0.5 is half a core. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Bytes the sandbox may write to its own layer. */
  readonly diskBytes: number;
  /** Files and folders the sandbox may create. */
  readonly filesMax: number;
  readonly processesMax: number;
  readonly shmBytes: number;
}

/** What is asked of a provider. Nothing of it is weakened: what cannot be kept is refused. */
export interface SandboxRequest {
  readonly attemptId: string;
  /** `agent`, `verifier` or `subject`; a regrading adds its number. */
  readonly role: string;
  readonly fence: number;
  readonly image: ImageReference;
  readonly isolationMin: Isolation;
  readonly limits: SandboxLimits;
  readonly network: NetworkPolicy;
  /** Variables of every command; nothing of the host's environment is inherited. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Hard end of the sandbox, whatever happens. */
  readonly lifetimeMs: number;
  /** Ends the sandbox when no call but `stats` was open or made for this long; default `lifetimeMs`, of a pool 1 h. */
  readonly idleMs?: number;
  /** `strict` allows only the system calls that ordinary programs make; default `default`, which denies the dangerous ones. */
  readonly seccomp?: "default" | "strict";
}

/** A sandbox as it was made or adopted. */
export interface SandboxInfo {
  readonly id: string;
  readonly provider: string;
  readonly isolation: Isolation;
  readonly image: ImageReference;
  readonly imageHash: string;
  readonly limits: SandboxLimits;
  /** As requested; the policy in force may be narrower. */
  readonly network: NetworkPolicy["mode"];
  /** Those of the request, with `attemptId`, `role` and `fence`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** `sampled`: looked at from time to time, and acted on. `none`: nothing holds a sandbox to it. */
export type LimitSupport = "enforced" | "sampled" | "none";

/** What a provider keeps on this machine, as data; exact once it has made a sandbox, until then what may be expected. */
export interface SandboxCapabilities {
  readonly isolation: Isolation;
  readonly network: readonly NetworkPolicy["mode"][];
  readonly limits: Readonly<Record<keyof SandboxLimits, LimitSupport>>;
  readonly oomEvidence: "per-exec" | "per-sandbox" | "none";
  readonly killTree: "cgroup" | "pid-namespace" | "uid-sweep";
  readonly snapshot: "none" | "filesystem" | "full";
  /** Forks one on top of another before `fork` is refused or flattened; 0 where there is none. */
  readonly forksMax: number;
  /** Cases of the conformance suite this provider does not keep, each with its reason; the suite proves the list exact. */
  readonly unsupported: Readonly<Record<number, string>>;
}

/** One line of `sandlot doctor`: what works, what does not, why, and the command that would enable it. */
export interface ProbeLine {
  readonly name: string;
  readonly ok: boolean;
  readonly required: boolean;
  readonly evidence: string;
  readonly remedy: string | null;
}

/** `ok` when every required line is. */
export interface ProbeReport {
  readonly provider: string;
  readonly ok: boolean;
  readonly lines: readonly ProbeLine[];
}

/** What a sweep removed, and what it left because its owner lives or could not be proven dead. */
export interface SweepReport {
  readonly removed: readonly string[];
  readonly kept: readonly string[];
}

/** Makes sandboxes of one kind. */
export interface SandboxProvider {
  readonly name: string;
  readonly capabilities: SandboxCapabilities;
  /** Tries what it needs on this machine, with a sandbox of its own. Never throws for what is missing. */
  probe(): Promise<ProbeReport>;
  /**
   * Resolves once a first exec has answered.
   * Throws `sandbox_unavailable`, `image_unavailable`, `isolation_too_weak`, `unsupported` or `request_invalid`.
   */
  create(request: SandboxRequest, signal: AbortSignal): Promise<Sandbox>;
  /**
   * Makes a sandbox that nobody has used serve this request: its labels, variables, network, lifetime and idle time from
   * now on. Image, isolation, limits and seccomp must be those it was made with. Answers only while the sandbox does, so
   * it is a health check too. Absent where a provider cannot; a pool then keeps ready ones per whole request.
   */
  adopt?(sandbox: Sandbox, request: SandboxRequest): Promise<Sandbox>;
  /** Live sandboxes that carry every one of `labels`; all without it. */
  list(labels?: Readonly<Record<string, string>>): Promise<readonly SandboxInfo[]>;
  /** Ends a sandbox by its id, whoever holds its handle. */
  destroy(id: string): Promise<"destroyed" | "absent">;
  /** Removes what dead owners left behind, and nothing of a live owner. */
  sweep(): Promise<SweepReport>;
  /** Destroys every sandbox of this provider and ends its helper process. Idempotent. */
  close(): Promise<void>;
}

/** What a sandbox has used until now; null where nothing measures it. */
export interface SandboxStats {
  readonly cpuMs: number | null;
  readonly memoryBytes: number | null;
  readonly memoryPeakBytes: number | null;
  /** How long the processor quota held commands back. */
  readonly throttledMs: number | null;
  readonly diskBytes: number | null;
  /** Files and folders of its own layer. */
  readonly files: number | null;
  readonly processes: number | null;
  readonly oomKills: number | null;
}

/** One process of the sandbox as its own root sees it. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  /** Its words joined by spaces, at most 4,096 bytes; hostile text. */
  readonly command: string;
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

/** How a snapshot or fork treats what is alive, and whether it is kept. */
export interface SnapshotOptions {
  /**
   * What happens to live processes: `refuse` throws `sandbox_busy` (default), `kill` ends them, `copy` stops them for the
   * time of a copy and lets them go on (crash-consistent).
   */
  readonly live?: "refuse" | "kill" | "copy";
  /** Keeps the snapshot as an image of the store, `sha256:HASH`; others end with the host process. */
  readonly persist?: boolean;
}

/** Sealed files of a sandbox, to which it can be reset. */
export interface Snapshot {
  readonly id: string;
  /** `filesystem`: no running process is carried. */
  readonly kind: "filesystem" | "full";
  readonly bytes: number;
  /** Sealed layers it stands on, its own included, the image not. */
  readonly layers: number;
  /** Set when it was persisted. */
  readonly image: ImageReference | null;
}

/** What proves that a reset left nothing of before. */
export interface ResetReport {
  /** Bytes and files of the upper layer after the reset. */
  readonly bytes: number;
  readonly files: number;
  readonly processes: number;
  readonly durationMs: number;
}

/** One thing a recorder outside the sandbox saw. */
export interface SandboxEvent {
  /** `exec`: a program was started, by its file; `open` and `write`: of a watched path, or of another process's /proc. */
  readonly kind: "exec" | "open" | "write";
  /** Milliseconds since the trace began. */
  readonly atMs: number;
  /** As the sandbox sees it; hostile text. */
  readonly path: string;
  /** As the sandbox's root sees it; null where it was gone before it could be looked at. */
  readonly pid: number | null;
  /** Of an exec: at most 32 words and 1,024 bytes; null where the process was gone, or still another program. */
  readonly argv: readonly string[] | null;
}

/** A running record of a sandbox. It ends with the sandbox; what it saw stays readable. */
export interface SandboxTrace {
  /**
   * What was seen up to now, in order, at most 4,000 events. The same event is told eight times at most; `dropped` counts
   * what came too fast or was too much. Never throws.
   */
  log(): Promise<{
    /** By the monotonic clock of the runtime. */
    readonly startedAt: number;
    readonly events: readonly SandboxEvent[];
    readonly dropped: number;
  }>;
}

/** A handle. After the sandbox's end every call but `networkLog` and `destroy` throws `sandbox_lost`, `_killed` or `_destroyed`. */
export interface Sandbox {
  readonly id: string;
  readonly info: SandboxInfo;
  /** Runs to its end. A string runs as `/bin/sh -c`. Never throws for the command; `sandbox_busy` after `freeze`. */
  exec(command: string | readonly string[], options: ExecOptions): Promise<ExecResult>;
  /** Like `exec`, with a handle while it runs. */
  start(command: string | readonly string[], options: ExecOptions): Promise<SandboxProcess>;
  /** A bash that is started by its first run. */
  shell(options: ShellOptions): Promise<Shell>;
  /** The command of an earlier `start` again, by its id; `onOutput` first gets what was kept of its output. Throws `not_found`. */
  attach(id: string, onOutput?: ExecOptions["onOutput"]): Promise<SandboxProcess>;
  processes(): Promise<readonly ProcessInfo[]>;
  readonly files: SandboxFiles;
  /** Every path that differs from the image or last snapshot, sorted; at most `entriesMax`, else `request_invalid`. */
  diff(options?: { readonly entriesMax?: number }): Promise<readonly FileChange[]>;
  /** The same as a layer: a tar stream in the OCI layer format, which the image store can put on an image. */
  exportLayer(): AsyncIterable<Uint8Array>;
  /** Throws `sandbox_busy` as `SnapshotOptions.live` says, `unsupported` where the provider has none. */
  snapshot(options?: SnapshotOptions): Promise<Snapshot>;
  /** Fresh sandboxes on this one's files, each with its own life, limits and id; this one goes on. Throws like `snapshot`. */
  fork(count: number, options?: SnapshotOptions): Promise<readonly Sandbox[]>;
  /**
   * Fresh again behind the same handle, and no longer frozen: on the image, or on a snapshot of this sandbox by its id.
   * Every process ends. Throws `not_found` for another id, `unsupported` where the provider has none.
   */
  reset(snapshotId?: string): Promise<ResetReport>;
  /** For the next phase; never wider than what was requested, else `request_invalid`. Closes what is no longer allowed. */
  setNetwork(policy: NetworkPolicy): Promise<void>;
  /** Every decision since the sandbox was made, also after its end; empty where it never had a network. */
  networkLog(): NetworkLog;
  stats(): Promise<SandboxStats>;
  /**
   * Records from now on what is started, and who opens or writes a watched path or anything below it. Nothing inside can
   * stop, change or flood the record. Absent where the provider has no recorder, null where this machine allows none.
   */
  trace?(watched: readonly string[]): Promise<SandboxTrace | null>;
  /** Its lifetime begins anew and is this long, from now. Throws `request_invalid` for what is no time. */
  extend(lifetimeMs: number): Promise<void>;
  /** Ends every process the policy started; afterwards `exec`, `start` and `shell` throw `sandbox_busy`, files can be read. */
  freeze(): Promise<void>;
  /** Idempotent. Resolves when processes, mounts and groups are gone. */
  destroy(): Promise<void>;
}
