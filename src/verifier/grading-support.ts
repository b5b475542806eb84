/** What the tests of templates share: real sandboxes, a task of hidden files, and one grading of what an agent left. */
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task, TestRunner, TestsVerifierSpec } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { systemRuntime } from "../runtime/system.ts";
import { sandboxPool } from "../sandbox/pool.ts";
import { namespaceProvider } from "../sandbox/provider-namespace.ts";
import { createVerifier } from "./verifier.ts";

const MIB = 1024 * 1024;
const SEED = 5n;

export function file(path: string, text: string, mode = 0o644): FileContent {
  return { path, bytes: Buffer.from(text, "utf8"), mode };
}

/** A task of hidden files below `/tests/unit`, all of one runner; `names` are what follows the file in each id. */
export function hiddenTask(
  runner: TestRunner,
  hidden: { readonly path: string; readonly text: string; readonly names: readonly string[] },
  change: Partial<Task> = {},
): Task & { readonly verifier: TestsVerifierSpec } {
  const { path, text, names } = hidden;
  const verifier: TestsVerifierSpec = {
    kind: "tests",
    tiers: [{ name: "unit", weight: 1, gate: false, threshold: 1, requires: [], visibility: "hidden", runner }],
    files: [file(`/tests/unit/${path}`, text)],
    manifest: names.map((name) => ({ id: `unit/${path}::${name}`, tier: "unit" })),
  };
  return { ...emptyTask(), ...change, verifier };
}

/** A task without files and tests, on the `host` image, with limits that a hostile program soon meets. */
export function emptyTask(): Omit<Task, "verifier"> {
  return {
    key: "test/hidden",
    hash: "t",
    agentHash: "a",
    verifierHash: "v",
    family: "test",
    description: "",
    instruction: "",
    image: "host",
    workdir: "/app",
    agentUser: "agent",
    envVars: {},
    network: { mode: "off" },
    resources: {
      cpus: 1,
      memoryBytes: 128 * MIB,
      diskBytes: 16 * MIB,
      filesMax: 1_000,
      processesMax: 64,
      shmBytes: MIB,
    },
    limits: {
      turnsMax: 1,
      tokensMax: 100,
      agentMs: 10_000,
      commandMs: 5_000,
      gradeMs: 60_000,
      episodeMs: 90_000,
      outputBytesPerTurn: 1_000,
    },
    isDeadlineShown: true,
    files: [],
    setup: null,
    contract: { state: "workdir", files: [], bytesMax: MIB, entriesMax: 100 },
    threshold: 1,
    gradingSeed: SEED,
    oracle: { name: "oracle", answer: null, files: [], commands: [] },
    alternatives: [],
    wrong: [],
    generator: null,
    folder: null,
  };
}

/** Real sandboxes and the verifier over them; the caller closes it, which tells what sandboxes were left. */
export function gradingRig() {
  const runtime = systemRuntime();
  const provider = namespaceProvider({ runtime });
  const pool = sandboxPool({ provider, runtime, lentMax: 4, creatingMax: 2, readyMax: 0 });
  const verifier = createVerifier({ runtime });
  let attempts = 0;
  return {
    runtime,
    pool,
    grade: (
      task: Task,
      left: readonly FileContent[],
      change: Partial<Omit<GradeRequest, "artifacts">> & { readonly visible?: readonly FileContent[] } = {},
      sandboxes: SandboxPool = pool,
    ) => {
      attempts += 1;
      const { visible, ...others } = change;
      const artifacts = { answer: null, files: left, missing: [], hash: "h", ...(visible && { visible }) };
      const attemptId = `hidden-${process.pid}-${attempts}`;
      const signal = new AbortController().signal;
      return verifier.grade({ task, artifacts, gradingSeed: SEED, attemptId, fence: 1, signal, ...others }, sandboxes);
    },
    close: async () => {
      await pool.drain();
      const left = await provider.list();
      await provider.close();
      return left;
    },
  };
}
