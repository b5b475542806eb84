/**
 * What a bwrap sandbox keeps and what it does not, as data, each case of the conformance suite that it cannot keep with
 * its reason. A request for more is refused by name.
 */
import { Failure } from "../../core/errors.ts";
import type { SandboxCapabilities, SandboxRequest } from "../../core/sandbox.ts";
import { refuseInvalid, refuseTooWeak } from "../request-check.ts";
import { UNKEPT_WITH_ONE_ID, type UserIds } from "../user-ids.ts";

const NO_COUNT = "without a pids group the kernel refuses forks beyond the limit, but counts no refusal";
const NO_SNAPSHOT = "bwrap seals no layer, so there is no snapshot, fork or reset";
const NO_NETWORK = "this provider has no network but none: its agent holds no relay to the host's proxy";

const UNSUPPORTED: SandboxCapabilities["unsupported"] = {
  7: NO_COUNT,
  8: NO_COUNT,
  10: NO_COUNT,
  12: "the /proc that bwrap mounts shows the agent; tracing and reading it are refused all the same",
  25: "bwrap takes a size for a tmpfs and no number of files",
  28: "without a control group nothing holds a command to its share of the processor",
  30: "bwrap closes /proc/sys at once, so System V memory, watches and terminals keep the kernel's own bounds",
  57: NO_NETWORK,
  59: NO_SNAPSHOT,
  66: NO_SNAPSHOT,
  67: NO_SNAPSHOT,
  78: "the files of a sandbox lie in one tmpfs with those of its image, so the agent can tell no diff",
  80: "what is started inside is recorded by root of the machine alone, through the helper of the namespace provider",
};

export function bwrapCapabilities(ids: UserIds): SandboxCapabilities {
  const isSingle = ids.kind === "self";
  return {
    isolation: "namespace",
    network: ["off"],
    limits: {
      cpus: "none",
      memoryBytes: "sampled",
      diskBytes: "enforced",
      filesMax: "none",
      /* The kernel counts for each user alone, so with several users the agent watches their sum. */
      processesMax: isSingle ? "enforced" : "sampled",
      shmBytes: "enforced",
    },
    oomEvidence: "none",
    killTree: "pid-namespace",
    snapshot: "none",
    forksMax: 0,
    unsupported: { ...(isSingle ? UNKEPT_WITH_ONE_ID : {}), ...UNSUPPORTED },
  };
}

/** Throws what says why this provider cannot keep the request; nothing is weakened or ignored in silence. */
export function refuseUnkept(request: SandboxRequest): void {
  const { network, image } = request;
  refuseTooWeak(request, "namespace", "the bwrap provider");
  if (network.mode !== "off")
    throw new Failure(
      "unsupported",
      `Network mode "${network.mode}" was asked for; the bwrap provider offers "off" only. Use the namespace provider.`,
    );
  if (image !== "host")
    throw new Failure(
      "image_unavailable",
      `Image "${image}" was asked for; the bwrap provider offers "host" only, because bwrap cannot stack layers before 0.11.`,
    );
  refuseInvalid(request);
}
