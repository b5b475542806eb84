/** What the namespace provider can keep on this machine, and its refusal of everything else. */
import type { SandboxCapabilities, SandboxRequest } from "../core/sandbox.ts";
import { STACK_MAX } from "./layer-stack.ts";
import { hostRules } from "./proxy/host-rules.ts";
import { refuseInvalid, refuseTooWeak } from "./request-check.ts";
import { UNKEPT_WITH_ONE_ID, userIds } from "./user-ids.ts";
import type { GroupSupport, Zygote } from "./zygote.ts";

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
const NO_TRACE = "Only root of the machine may ask the kernel what is started on the mounts of a sandbox.";
const NO_CPU = "Without a cpu group nothing holds a command to its share of the processor.";

function expectedGroups(): GroupSupport {
  const { kind: ids } = userIds();
  const where = ids === "root" ? "v1" : "none";
  return { memory: where, pids: where, cpu: where, kill: where, ids };
}

function unkeptCases({ pids, cpu, ids }: GroupSupport): Record<number, string> {
  return {
    ...(ids === "self" ? UNKEPT_WITH_ONE_ID : {}),
    ...(pids === "none" ? { 7: NO_PIDS, 8: NO_PIDS, 10: NO_PIDS } : {}),
    ...(cpu === "none" ? { 28: NO_CPU } : {}),
    ...(ids === "root" ? {} : { 80: NO_TRACE }),
  };
}

/** Refuses what this provider cannot keep; nothing is weakened or ignored in silence. */
export function refuseRequest(request: SandboxRequest): void {
  refuseTooWeak(request, "namespace", "the namespace provider");
  hostRules(request.network);
  refuseInvalid(request);
}
