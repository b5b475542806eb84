/**
 * The network of one sandbox, whatever provider made it: the policy in force, the proxy that keeps it, the relay that
 * feeds it, the record of attempts. A sandbox without a network has no listener and no proxy at work.
 */
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { NetworkLog, NetworkPolicy } from "../../core/sandbox.ts";
import type { Frame } from "../frames.ts";
import { hostRules, isWithin } from "./host-rules.ts";
import { networkAudit } from "./network-audit.ts";
import { type ProxyOptions, type SandboxProxy, sandboxProxy } from "./proxy.ts";
import { RELAY_PORT, type Relay, type RelayClient, relayOf } from "./relay.ts";

/** What the network of one sandbox is made with. */
export interface NetworkControlOptions {
  readonly runtime: Runtime;
  /** The widest the network may ever be; in force from `open` on. */
  readonly requested: NetworkPolicy;
  readonly proxy?: ProxyOptions;
}

/** One machine's end of the network. `onFrame` goes into its agent client, `open` follows once the agent answers. */
export interface NetworkPort {
  onFrame(frame: Frame): void;
  /** Serves this machine by the policy in force, in place of any machine before. */
  open(client: RelayClient): Promise<void>;
}

/** The network of one sandbox, over all machines it will have. */
export interface NetworkControl {
  /** The policy in force. */
  readonly policy: NetworkPolicy;
  /** What commands need to find the proxy; nothing while the mode is off. */
  readonly envVars: Readonly<Record<string, string>>;
  /** A fresh end for one machine; a sandbox that is renewed takes another. */
  port(): NetworkPort;
  /**
   * For the next phase; in force for new connections at once, and open ones it does not allow are closed. Throws
   * `request_invalid` for a policy wider than what was requested, `sandbox_unavailable` when the proxy cannot listen.
   */
  set(policy: NetworkPolicy): Promise<void>;
  /** A new request for a sandbox that nobody has used: its policy is the widest from now on, and in force. */
  adopt(requested: NetworkPolicy): Promise<void>;
  log(): NetworkLog;
}

const PROXY_URL = `http://127.0.0.1:${RELAY_PORT}`;
const LOCAL_HOSTS = "localhost,127.0.0.1,::1";

/** Programs read one spelling or the other. */
const PROXY_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => {
    const value = name === "NO_PROXY" ? LOCAL_HOSTS : PROXY_URL;
    return [
      [name, value],
      [name.toLowerCase(), value],
    ];
  }),
);
const NO_VARIABLES: Readonly<Record<string, string>> = {};

/** Throws `request_invalid` for a policy with an entry that cannot be kept, or a bad route. */
export function networkControl({ runtime, requested: first, proxy: options }: NetworkControlOptions): NetworkControl {
  const audit = networkAudit(runtime);
  let proxy: SandboxProxy | null = null;
  let requested = first;
  let wanted = hostRules(first);
  let serving: { readonly relay: Relay; isListening: boolean } | null = null;
  let last: Promise<void> = Promise.resolve();

  /** One change after the other, whatever became of the one before. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = last.catch(() => undefined).then(work);
    last = turn;
    return turn;
  };
  /** A sandbox that never has a network never has a proxy. */
  const enforce = (): void => {
    if (wanted.policy.mode !== "off") proxy ??= sandboxProxy(runtime, options ?? {}, audit);
    proxy?.setRules(wanted);
  };
  const apply = async (): Promise<void> => {
    enforce();
    const isOn = wanted.policy.mode !== "off";
    if (serving === null || serving.isListening === isOn) return;
    if (isOn) await serving.relay.start();
    else await serving.relay.stop();
    serving.isListening = isOn;
  };
  const change = (policy: NetworkPolicy): Promise<void> => {
    wanted = hostRules(policy);
    /* Narrower rules hold from this moment, before the agent has heard of it. */
    enforce();
    return inTurn(apply);
  };
  return {
    get policy() {
      return wanted.policy;
    },
    get envVars() {
      return wanted.policy.mode === "off" ? NO_VARIABLES : PROXY_VARIABLES;
    },
    port: () => {
      let relay: Relay | null = null;
      return {
        onFrame: (frame) => relay?.onFrame(frame),
        open: (client) =>
          inTurn(async () => {
            relay = relayOf(client, (connection) => proxy?.serve(connection));
            serving = { relay, isListening: false };
            await apply();
          }),
      };
    },
    set: async (policy) => {
      if (!isWithin(policy, requested))
        throw new Failure(
          "request_invalid",
          `A network policy may only narrow what the sandbox was requested with (mode "${requested.mode}"), not widen it.`,
        );
      await change(policy);
    },
    adopt: async (policy) => {
      hostRules(policy);
      requested = policy;
      await change(policy);
    },
    log: () => audit.log(),
  };
}
