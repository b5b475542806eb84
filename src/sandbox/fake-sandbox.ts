/**
 * Sandboxes that exist only in memory, for tests of what stands above them: files in a map, commands answered by a given
 * function, faults planted on purpose. Product code, not a mock. What memory cannot do is refused as `unsupported`.
 */
import { Failure } from "../core/errors.ts";
import type {
  Sandbox,
  SandboxCapabilities,
  SandboxInfo,
  SandboxProvider,
  SandboxRequest,
  SandboxStats,
  SnapshotOptions,
} from "../core/sandbox.ts";
import type { ClaimOptions, SandboxLease, SandboxPool } from "../core/sandbox-pool.ts";
import { type FakeCommand, fakeCommands } from "./fake-sandbox-commands.ts";
import { fakeFiles } from "./fake-sandbox-files.ts";
import { fakeTrace } from "./fake-sandbox-trace.ts";
import { changesBetween, type FakeFiles, replaceFiles, WatchedFiles } from "./fake-sandbox-tree.ts";
import { latencyRing } from "./latency-ring.ts";

/** How fake sandboxes answer, and what goes wrong with them. */
export interface FakeSandboxOptions {
  /** Answers each command; the words of an array are joined by spaces. Absent: every command exits with 0. */
  readonly onCommand?: FakeCommand;
  /** Planted fault: each sandbox is lost after this many commands. */
  readonly loseAfter?: number;
  /** Planted fault: the first so many creations fail with `sandbox_unavailable`. */
  readonly createFailures?: number;
}

/** A fake pool that also tells how many it has lent. */
export interface FakeSandboxPool extends SandboxPool {
  /** Sandboxes lent and not yet destroyed. */
  readonly lent: number;
}

const CAPABILITIES: SandboxCapabilities = {
  isolation: "process",
  network: ["off"],
  limits: {
    cpus: "none",
    memoryBytes: "none",
    diskBytes: "none",
    filesMax: "none",
    processesMax: "none",
    shmBytes: "none",
  },
  oomEvidence: "none",
  killTree: "pid-namespace",
  snapshot: "filesystem",
  forksMax: 1_000,
  unsupported: {},
};

const ENTRIES_MAX = 100_000;

interface FakeLife {
  /** Throws what says that the sandbox is no more. */
  readonly check: () => void;
  readonly ended: AbortSignal;
  end(failure: Failure): void;
}

function fakeLife(): FakeLife {
  const controller = new AbortController();
  return {
    ended: controller.signal,
    check: () => {
      if (controller.signal.aborted) throw controller.signal.reason;
    },
    end: (failure) => controller.abort(failure),
  };
}

interface FakeMaker {
  readonly options: FakeSandboxOptions;
  make(request: SandboxRequest, files: FakeFiles): Sandbox;
  onDestroy(id: string): void;
}

function fakeSandbox(id: string, request: SandboxRequest, image: FakeFiles, maker: FakeMaker): Sandbox {
  const life = fakeLife();
  const files = new WatchedFiles();
  replaceFiles(files, image);
  let count = 0;
  let isFrozen = false;
  const admit = (): void => {
    life.check();
    if (isFrozen) throw new Failure("sandbox_busy", `Sandbox ${id} is frozen; only its files can be read.`);
    if (count === maker.options.loseAfter) life.end(new Failure("sandbox_lost", `Sandbox ${id} was lost on purpose.`));
    life.check();
    count += 1;
  };
  const { seen: onCommand, trace } = fakeTrace(files, maker.options.onCommand, life.ended);
  const { killAll, ...commands } = fakeCommands({ request, files, onCommand, admit, ended: life.ended });
  const thaw = (): void => {
    isFrozen = false;
  };
  let ending: Promise<void> | null = null;
  return {
    id,
    info: infoOf(id, request),
    ...commands,
    files: fakeFiles(files, life.check, life.ended),
    ...stateMethods({ id, request, image, files, life, maker, killAll, commands, thaw }),
    exportLayer: () => {
      throw new Failure("unsupported", "The fake provider does not offer exportLayer.");
    },
    setNetwork: async ({ mode }) => {
      life.check();
      if (mode !== "off")
        throw new Failure("request_invalid", `A fake sandbox was made without a network, not "${mode}".`);
    },
    trace,
    networkLog: () => ({ attempts: [], attemptsDropped: 0, allowed: 0, refused: 0, bytesIn: 0, bytesOut: 0 }),
    stats: async () => {
      life.check();
      return { ...UNKNOWN, files: files.size, processes: (await commands.processes()).length };
    },
    /* It has no clock, so no lifetime ever ends it. */
    extend: async (lifetimeMs) => {
      life.check();
      if (!(lifetimeMs > 0 && Number.isFinite(lifetimeMs)))
        throw new Failure("request_invalid", `lifetimeMs must be positive, not ${lifetimeMs}.`);
    },
    freeze: async () => {
      life.check();
      isFrozen = true;
      killAll();
    },
    destroy: () => {
      ending ??= (async () => {
        life.end(new Failure("sandbox_destroyed", `Sandbox ${id} was destroyed.`));
        maker.onDestroy(id);
      })();
      return ending;
    },
  };
}

const UNKNOWN: SandboxStats = {
  cpuMs: null,
  memoryBytes: null,
  memoryPeakBytes: null,
  throttledMs: null,
  diskBytes: null,
  files: null,
  processes: null,
  oomKills: null,
};

interface FakeState {
  readonly id: string;
  readonly request: SandboxRequest;
  readonly image: FakeFiles;
  readonly files: WatchedFiles;
  readonly life: FakeLife;
  readonly maker: FakeMaker;
  readonly commands: Pick<Sandbox, "processes">;
  killAll(): void;
  thaw(): void;
}

function stateMethods(state: FakeState): Pick<Sandbox, "diff" | "snapshot" | "fork" | "reset"> {
  const { id, files, life } = state;
  const snapshots = new Map<string, FakeFiles>();
  let base = state.image;
  /** A copy of the files, once `live` allows it. */
  const copy = async ({ live = "refuse", persist = false }: SnapshotOptions = {}): Promise<FakeFiles> => {
    life.check();
    if (persist) throw new Failure("unsupported", "The fake provider has no image store to keep a snapshot in.");
    const running = (await state.commands.processes()).length;
    if (running > 0 && live === "refuse")
      throw new Failure(
        "sandbox_busy",
        `Sandbox ${id} runs ${running} commands; end them, or say what becomes of them.`,
      );
    if (live === "kill") state.killAll();
    return new Map(files);
  };
  return {
    diff: async ({ entriesMax = ENTRIES_MAX } = {}) => {
      life.check();
      const changes = changesBetween(base, files);
      if (changes.length <= entriesMax) return changes;
      throw new Failure("request_invalid", `More than ${entriesMax} paths differ; ask for a larger entriesMax.`);
    },
    snapshot: async (options) => {
      const kept = await copy(options);
      base = kept;
      const snapshotId = `${id}-snapshot-${snapshots.size + 1}`;
      snapshots.set(snapshotId, kept);
      const bytes = [...kept.values()].reduce((total, file) => total + file.bytes.length, 0);
      return { id: snapshotId, kind: "filesystem", bytes, layers: snapshots.size, image: null };
    },
    fork: async (count, options) => {
      const kept = await copy(options);
      return Array.from({ length: count }, () => state.maker.make(state.request, kept));
    },
    reset: async (snapshotId) => {
      life.check();
      const target = snapshotId === undefined ? state.image : snapshots.get(snapshotId);
      if (target === undefined) throw new Failure("not_found", `Sandbox ${id} has no snapshot "${snapshotId}".`);
      state.killAll();
      replaceFiles(files, target);
      base = target;
      state.thaw();
      return { bytes: 0, files: 0, processes: 0, durationMs: 0 };
    },
  };
}

function infoOf(id: string, request: SandboxRequest): SandboxInfo {
  const { attemptId, role, fence, labels, image, limits, network } = request;
  return {
    id,
    provider: "fake",
    isolation: "process",
    image,
    imageHash: "fake",
    limits,
    network: network.mode,
    labels: { ...labels, attemptId, role, fence: String(fence) },
  };
}

/** A provider of in-memory sandboxes. It isolates nothing, has no clock, and must never be offered to a policy. */
export function fakeProvider(options: FakeSandboxOptions = {}): SandboxProvider {
  const live = new Map<string, Sandbox>();
  let made = 0;
  let failures = options.createFailures ?? 0;
  const maker: FakeMaker = {
    options,
    make: (request, files) => {
      made += 1;
      const id = `fake-${made}`;
      const sandbox = fakeSandbox(id, request, files, maker);
      live.set(id, sandbox);
      return sandbox;
    },
    onDestroy: (id) => {
      live.delete(id);
    },
  };
  return {
    name: "fake",
    capabilities: CAPABILITIES,
    probe: async () => ({ provider: "fake", ok: true, lines: [] }),
    create: async (request, signal) => {
      if (signal.aborted) throw new Failure("cancelled", "The creation was cancelled.", { cause: signal.reason });
      if (failures > 0) {
        failures -= 1;
        throw new Failure("sandbox_unavailable", "This creation fails on purpose.");
      }
      return maker.make(request, new Map());
    },
    list: async (labels = {}) => {
      const wanted = Object.entries(labels);
      const all = [...live.values()].map((sandbox) => sandbox.info);
      return all.filter((info) => wanted.every(([name, value]) => info.labels[name] === value));
    },
    destroy: async (id) => {
      const sandbox = live.get(id);
      await sandbox?.destroy();
      return sandbox === undefined ? "absent" : "destroyed";
    },
    sweep: async () => ({ removed: [], kept: [] }),
    close: async () => {
      await Promise.all([...live.values()].map((sandbox) => sandbox.destroy()));
    },
  };
}

/** A pool of in-memory sandboxes without a ceiling and without ready ones; its latencies are not measured. */
export function fakeSandboxPool(options: FakeSandboxOptions = {}): FakeSandboxPool {
  const provider = fakeProvider(options);
  const counts = { lent: 0, created: 0, destroyed: 0, failed: 0 };
  const unmeasured = latencyRing().stats();
  const lend = (sandbox: Sandbox): SandboxLease => {
    counts.created += 1;
    counts.lent += 1;
    let ending: Promise<void> | null = null;
    const destroy = (): Promise<void> => {
      ending ??= sandbox.destroy().finally(() => {
        counts.lent -= 1;
        counts.destroyed += 1;
      });
      return ending;
    };
    const fork: Sandbox["fork"] = async (count, forkOptions) => (await sandbox.fork(count, forkOptions)).map(lend);
    return { ...sandbox, claimPath: "cold", fork, destroy, [Symbol.asyncDispose]: destroy };
  };
  const claim = async (request: SandboxRequest, signal: AbortSignal, _options?: ClaimOptions): Promise<SandboxLease> =>
    lend(
      await provider.create(request, signal).catch((error: unknown) => {
        counts.failed += 1;
        throw error;
      }),
    );
  return {
    get lent() {
      return counts.lent;
    },
    claim,
    withSandbox: async (request, signal, use) => {
      await using sandbox = await claim(request, signal);
      return await use(sandbox);
    },
    prewarm: async () => undefined,
    stats: () => ({
      ...{ ready: 0, creating: 0, draining: 0, quarantined: 0, orphansDestroyed: 0, waiting: 0, target: 0, ...counts },
      failuresByCode: counts.failed === 0 ? {} : { sandbox_unavailable: counts.failed },
      claimsByPath: { ready: 0, cold: counts.created },
      claim: unmeasured,
      create: unmeasured,
      destroy: unmeasured,
    }),
    drain: async () => undefined,
  };
}
