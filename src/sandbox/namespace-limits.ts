/** What the namespace provider can keep on this machine, and its refusal of everything else. */
import { Failure } from "../core/errors.ts";
import type { Isolation, LimitSupport, SandboxCapabilities, SandboxRequest } from "../core/sandbox.ts";
import { STACK_MAX } from "./layer-stack.ts";
import { hostRules } from "./proxy/host-rules.ts";
import type { Zygote } from "./zygote.ts";

const STRENGTH: readonly Isolation[] = ["process", "namespace", "gvisor", "vm"];

/** Of a helper that runs; of none, what a machine with everything offers. */
export function capabilitiesOf(zygote: Pick<Zygote, "groups" | "layers"> | null): SandboxCapabilities {
  const { memory, pids, cpu, kill } = zygote?.groups ?? { memory: "v2", pids: "v2", cpu: "v2", kill: "v2" };
  const canSeal = zygote === null || zygote.layers !== null;
  const noLayers = "This kernel cannot lend a mount twice; snapshots, forks and resets need Linux 6.15 or newer.";
  return {
    isolation: "namespace",
    network: ["off", "allow-list", "open"],
    limits: {
      cpus: support(cpu),
      memoryBytes: support(memory),
      diskBytes: "enforced",
      filesMax: "enforced",
      processesMax: support(pids),
      shmBytes: "enforced",
    },
    oomEvidence: memory === "none" ? "none" : "per-sandbox",
    killTree: kill === "none" ? "pid-namespace" : "cgroup",
    snapshot: canSeal ? "filesystem" : "none",
    forksMax: canSeal ? STACK_MAX : 0,
    unsupported: canSeal ? {} : { 59: noLayers, 66: noLayers, 67: noLayers },
  };
}

function support(where: string): LimitSupport {
  return where === "none" ? "none" : "enforced";
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
