/**
 * The network of a task, from `environment` and `agent`: none where nothing is said. The agent may be given less than
 * the environment, never more, because a sandbox only ever narrows what it was made with.
 */
import type { NetworkPolicy } from "../core/sandbox.ts";
import type { TaskToml } from "./task-schema.ts";
import type { TomlDocument } from "./task-toml.ts";
import { wrong } from "./tiers.ts";

/** What the sandbox is made with, and what the agent is left with after set-up; null where that is the same. */
export interface TaskNetwork {
  readonly network: NetworkPolicy;
  readonly agentNetwork: NetworkPolicy | null;
}

type Part = "environment" | "agent";

const HOST = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?::[1-9]\d{0,4})?$/;
const WIDTH = { off: 0, "allow-list": 1, open: 2 } as const;

/** Throws `task_invalid`. */
export function networkOf(document: TomlDocument<TaskToml>): TaskNetwork {
  const { environment, agent } = document.value;
  const oldMode = environment?.allow_internet === true ? ("public" as const) : undefined;
  const network = policyOf(document, "environment", environment?.network_mode ?? oldMode) ?? { mode: "off" };
  const own = policyOf(document, "agent", agent?.network_mode);
  if (own === null) return { network, agentNetwork: null };
  if (isWider(own, network)) {
    throw wrong(document, ["agent", "network_mode"], {
      value: agent?.network_mode,
      message: "gives the agent more than the environment has",
      remedy: "say the same, or more, under [environment]",
    });
  }
  return { network, agentNetwork: isWider(network, own) ? own : null };
}

function policyOf(
  document: TomlDocument<TaskToml>,
  part: Part,
  mode: "no-network" | "public" | "allowlist" | undefined,
): NetworkPolicy | null {
  const hosts = document.value[part]?.allowed_hosts ?? [];
  if (mode !== "allowlist" && hosts.length > 0) {
    throw wrong(document, [part, "allowed_hosts"], {
      value: hosts,
      message: `has no effect beside ${part}.network_mode = "${mode ?? "no-network"}"`,
      remedy: 'write network_mode = "allowlist", or leave the hosts out',
    });
  }
  if (mode === undefined) return null;
  if (mode !== "allowlist") return { mode: mode === "public" ? "open" : "off" };
  const odd = hosts.find((host) => !HOST.test(host));
  if (hosts.length > 0 && odd === undefined) return { mode: "allow-list", hosts };
  throw wrong(document, [part, "allowed_hosts"], {
    value: odd ?? hosts,
    message: odd === undefined ? "names no host, and the mode is allowlist" : "is not the name of a host",
    remedy: 'write names such as "example.org", "*.example.org" or "example.org:8443"',
  });
}

function isWider(inner: NetworkPolicy, outer: NetworkPolicy): boolean {
  if (WIDTH[inner.mode] !== WIDTH[outer.mode]) return WIDTH[inner.mode] > WIDTH[outer.mode];
  if (inner.mode !== "allow-list" || outer.mode !== "allow-list") return false;
  return inner.hosts.some((host) => !outer.hosts.includes(host));
}
