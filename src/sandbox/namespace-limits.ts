/** What the namespace provider can keep on this machine, and its refusal of everything else. */
import { Failure } from "../core/errors.ts";
import type { Isolation, SandboxCapabilities, SandboxRequest } from "../core/sandbox.ts";
import { STACK_MAX } from "./layer-stack.ts";
import { hostRules } from "./proxy/host-rules.ts";
import { userIds } from "./user-ids.ts";
import type { GroupSupport, Zygote } from "./zygote.ts";

const STRENGTH: readonly Isolation[] = ["process", "namespace", "gvisor", "vm"];

/**
 * Of a helper that runs; of none, what the user of this process may expect. A limit without a control group is kept by the
 * kernel's count of one user's processes, or watched by the agent, or told to be none.
 */
export function capabilitiesOf(zygote: Pick<Zygote, "groups" | "layers"> | null): SandboxCapabilities {
  const groups = zygote?.groups ?? expectedGroups();
  const { memory, pids, cpu, kill, ids } = groups;
  const canSeal = zygote === null || zygote.layers !== null;
  return {
    isolation: "namespace",
    network: ["off", "allow-list", "open"],
    limits: {
      cpus: cpu === "none" ? "none" : "enforced",
      memoryBytes: memory === "none" ? "sampled" : "enforced",
      diskBytes: "enforced",
      filesMax: "enforced",
      processesMax: pids !== "none" || ids === "self" ? "enforced" : "sampled",
      shmBytes: "enforced",
    },
    oomEvidence: memory === "none" ? "none" : memory === "v2" ? "per-exec" : "per-sandbox",
    killTree: kill === "none" ? "pid-namespace" : "cgroup",
    snapshot: canSeal ? "filesystem" : "none",
    forksMax: canSeal ? STACK_MAX : 0,
    unsupported: { ...unkeptCases(groups), ...(canSeal ? {} : { 59: NO_LAYERS, 66: NO_LAYERS, 67: NO_LAYERS }) },
  };
}

const NO_LAYERS = "This kernel cannot lend a mount twice; snapshots, forks and resets need Linux 6.15 or newer.";
const NO_PIDS = "Without a pids group the kernel refuses forks beyond the limit, but counts no refusal.";
const NO_CPU = "Without a cpu group nothing holds a command to its share of the processor.";
const NO_USERS = "With one id only, root is the only user of a sandbox; a range of ids in /etc/subuid gives it others.";
/** Cases that run commands as another user than root. */
const CASES_OF_USERS = [11, 12, 20, 35, 40, 47, 48, 55, 69, 70, 74, 75, 77];

function expectedGroups(): GroupSupport {
  const { kind: ids } = userIds();
  const where = ids === "root" ? "v1" : "none";
  return { memory: where, pids: where, cpu: where, kill: where, ids };
}

function unkeptCases({ pids, cpu, ids }: GroupSupport): Record<number, string> {
  return {
    ...(ids === "self" ? Object.fromEntries(CASES_OF_USERS.map((number) => [number, NO_USERS])) : {}),
    ...(pids === "none" ? { 7: NO_PIDS, 8: NO_PIDS, 10: NO_PIDS } : {}),
    ...(cpu === "none" ? { 28: NO_CPU } : {}),
  };
}

/** Refuses what this provider cannot keep; nothing is weakened or ignored in silence. */
export function refuseRequest(request: SandboxRequest): void {
  if (STRENGTH.indexOf(request.isolationMin) > STRENGTH.indexOf("namespace"))
    throw new Failure(
      "isolation_too_weak",
      `Isolation "${request.isolationMin}" was asked for; the namespace provider offers "namespace".`,
    );
  hostRules(request.network);
  for (const [name, value] of Object.entries(request.limits)) {
    const isValid = Number.isFinite(value) && value > 0 && (name === "cpus" || Number.isInteger(value));
    if (!isValid)
      throw new Failure("request_invalid", `Sandbox limit ${name} must be a positive whole number, not ${value}.`);
  }
  for (const [name, value] of [
    ["lifetimeMs", request.lifetimeMs],
    ["idleMs", request.idleMs ?? 1],
  ] as const)
    if (!(value > 0)) throw new Failure("request_invalid", `Sandbox ${name} must be positive, not ${value}.`);
}
