/**
 * What a container sandbox keeps and what it does not, as data: the engine's own word on its limits, the isolation of its
 * runtime, and each case of the conformance suite that a container cannot keep, with its reason. A request for more is
 * refused by name.
 */
import { Failure } from "../../core/errors.ts";
import type { Isolation, LimitSupport, SandboxCapabilities, SandboxRequest } from "../../core/sandbox.ts";
import { hostRules } from "../proxy/host-rules.ts";
import { refuseInvalid, refuseTooWeak } from "../request-check.ts";
import type { EngineFacts } from "./engine-client.ts";

/** Storage whose engines take a size for one container's layer. Overlay takes it on XFS with project quota only. */
const QUOTA_DRIVERS: readonly string[] = ["btrfs", "zfs", "devicemapper", "windowsfilter"];

const NO_DISK = "the engine's storage takes no size or file count for one container's layer";
const NO_SNAPSHOT = "the layers of a container are the engine's, and none is sealed under a live sandbox";

/** What holds of every engine; what is kept of a number all the same is held by the engine's own cases. */
const UNSUPPORTED: SandboxCapabilities["unsupported"] = {
  12: "a container's /proc shows every process in it, also the agent; tracing and reading it are refused all the same",
  23: NO_DISK,
  24: NO_DISK,
  25: NO_DISK,
  29: "an engine shows a container the machine's own memory and processors; its limits hold all the same",
  30: "containers share the machine's own number of inotify instances; memory, queues, keys, files and cores have ends",
  46: "an engine makes /dev writable for root of the container; nothing outside the container is reached through it",
  52: "an engine shows a container its own control groups; they are mounted read-only and nothing in them can be changed",
  54: "a container's list of mounts names folders of the engine's storage, and Podman leaves its mark in /run",
  59: NO_SNAPSHOT,
  66: NO_SNAPSHOT,
  67: NO_SNAPSHOT,
  78: "the engine keeps a container's layer to itself, so the agent can tell no diff of it",
  80: "an engine's containers have no recorder beside them; what they change and ask of the network is told",
};

/** Without facts, what may be expected of an engine. */
export function containerCapabilities(
  facts: EngineFacts | null,
  runtimeClass: string | undefined,
): SandboxCapabilities {
  const support = (isKept: boolean | undefined): LimitSupport => (isKept === false ? "none" : "enforced");
  const hasQuota = facts !== null && QUOTA_DRIVERS.includes(facts.storageDriver);
  return {
    isolation: isolationOf(runtimeClass),
    network: ["off", "allow-list", "open"],
    limits: {
      cpus: support(facts?.limits.cpu),
      memoryBytes: support(facts?.limits.memory),
      diskBytes: hasQuota ? "enforced" : "none",
      filesMax: "none",
      processesMax: support(facts?.limits.pids),
      shmBytes: "enforced",
    },
    oomEvidence: "per-sandbox",
    killTree: "pid-namespace",
    snapshot: "none",
    forksMax: 0,
    unsupported: UNSUPPORTED,
  };
}

/** By the usual names of runtimes; one that says nothing is taken for the weakest that a container has. */
export function isolationOf(runtimeClass: string | undefined): Isolation {
  if (runtimeClass === undefined) return "namespace";
  if (/runsc|gvisor/i.test(runtimeClass)) return "gvisor";
  return /kata|firecracker|krun/i.test(runtimeClass) ? "vm" : "namespace";
}

/** A limit that nothing keeps would be weaker isolation than was asked for, in silence. Throws `environment_missing`. */
export function refuseUnlimited({ limits }: EngineFacts): void {
  const unkept = Object.entries(limits).flatMap(([name, isKept]) => (isKept ? [] : [name]));
  if (unkept.length === 0) return;
  throw new Failure(
    "environment_missing",
    `The container engine keeps no limit of ${unkept.join(" and ")}. Give it the control group controllers that "sandlot doctor" names.`,
  );
}

/** Throws what says why this provider cannot keep the request; nothing is weakened or ignored in silence. */
export function refuseUnkept(request: SandboxRequest, capabilities: SandboxCapabilities): void {
  refuseTooWeak(
    request,
    capabilities.isolation,
    "this container runtime",
    "Name a stronger one as the provider's runtimeClass: runsc for gvisor, kata-runtime for vm.",
  );
  hostRules(request.network);
  refuseInvalid(request);
}
