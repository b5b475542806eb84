/**
 * What requests and tunnels of one sandbox's proxy share: the rules in force, the caps, the open exchanges, and the one
 * way from a target to a standing connection, with its record.
 */
import type { Duplex } from "node:stream";
import type { Runtime } from "../../core/runtime.ts";
import type { NetworkReason } from "../../core/sandbox.ts";
import type { Host } from "./address.ts";
import { type ConnectAddress, dial, type ResolveName } from "./dial.ts";
import type { HostRules } from "./host-rules.ts";
import type { NetworkAudit, OpenAttempt } from "./network-audit.ts";
import { CONNECTIONS_MAX, type RelayConnection } from "./relay.ts";
import type { RequestTarget } from "./request-head.ts";

/** A host that exists only inside sandboxes; the proxy answers for it. Its target and headers never enter a sandbox. */
export interface ProxyRoute {
  /** Ends in `.invalid`, such as `model.sandlot.invalid`. Reached at `http://HOST/…` by sandboxes whose policy lists it. */
  readonly host: string;
  /** `http:` or `https:`, also on this machine. Its path comes before the request's. */
  readonly target: URL;
  /** Put on each request in place of those of the same name, such as the credential. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ProxyCaps {
  /** Relayed in both directions over a sandbox's life. Default 16 GiB. */
  readonly bytesMax: number;
  /** Of use, from the first time a network is on. Default 24 hours. */
  readonly timeMsMax: number;
  /** A connection that relays nothing for this long is closed. Default 15 minutes: a model may think. */
  readonly idleMs: number;
}

export interface ProxyParts {
  readonly runtime: Runtime;
  readonly audit: NetworkAudit;
  readonly routes: readonly ProxyRoute[];
  readonly caps: ProxyCaps;
  readonly resolve: ResolveName;
  readonly connect: ConnectAddress;
}

/** The state of one proxy. */
export interface ProxyState extends ProxyParts {
  rules: HostRules;
  /** When a network was first on. */
  startedMs: number | null;
  readonly exchanges: Set<Exchange>;
}

/** One request or tunnel from its decision to its end. */
export interface Exchange {
  readonly attempt: OpenAttempt;
  readonly connection: RelayConnection;
  readonly host: Host;
  readonly port: number;
  /** Closes the command's connection and what it led to. */
  cut(reason: NetworkReason): void;
  /** Idempotent. */
  finish(): void;
}

/** Registers an exchange, refused until it is allowed. */
export function beginExchange(state: ProxyState, target: RequestTarget, connection: RelayConnection): Exchange {
  const attempt = state.audit.open(target.written, target.port, connection, "closed");
  const exchange: Exchange = {
    attempt,
    connection,
    host: target.host,
    port: target.port,
    cut: (reason) => {
      attempt.note(reason);
      connection.destroy(new Error(reason));
      exchange.finish();
    },
    finish: () => {
      connection.off("close", exchange.finish);
      attempt.finish();
      state.exchanges.delete(exchange);
    },
  };
  state.exchanges.add(exchange);
  connection.on("close", exchange.finish);
  return exchange;
}

/** Why no exchange with this target may begin; null when it may. */
export function refusalOf(state: ProxyState, host: Host, port: number): NetworkReason | null {
  const { rules, caps, audit, runtime, exchanges, startedMs } = state;
  const isLate = startedMs !== null && runtime.monotonic() - startedMs > caps.timeMsMax;
  if (isLate || audit.bytes > caps.bytesMax || exchanges.size > CONNECTIONS_MAX) return "limit";
  return rules.refusal(host, port);
}

/** A connection to what the exchange asks for, or the reason why not; both are recorded. */
export async function dialFor(state: ProxyState, exchange: Exchange): Promise<Duplex | NetworkReason> {
  const { host, port, attempt } = exchange;
  if (host.kind === "odd") return "host_malformed";
  const dialled = await dial(host, port, state);
  if (typeof dialled !== "string") {
    /* The policy may have changed, or the command have gone, while it was dialled. */
    if (state.exchanges.has(exchange)) {
      attempt.allow(dialled.address);
      return dialled.socket;
    }
    dialled.socket.destroy();
    return "closed";
  }
  if (dialled === "unreachable") {
    attempt.allow(null);
    attempt.note(dialled);
  } else attempt.refuse(dialled);
  return dialled;
}

const SENTENCES: Readonly<Record<NetworkReason, string>> = {
  not_listed: "The sandbox's network policy does not list this host.",
  port_not_listed: "The sandbox's network policy does not list this port.",
  address_not_public: "The host has an address that is not public.",
  host_malformed: "The host is not written as a full name or a plain address.",
  host_mismatch: "The Host header must name the host of the request, once.",
  server_name_mismatch: "The TLS client must name the host of the tunnel.",
  not_tls: "A tunnel carries TLS only; send plain HTTP as a request to the proxy.",
  request_malformed: "The proxy takes requests for http://HOST/PATH, and CONNECT HOST:PORT for TLS.",
  upgrade: "The proxy does not change protocols; use wss:// for a websocket.",
  limit: "The sandbox has used up its network limits.",
  unresolved: "The host has no address.",
  unreachable: "The host did not answer.",
  closed: "The connection was closed.",
};

const STATUS: Partial<Readonly<Record<NetworkReason, number>>> = {
  request_malformed: 400,
  limit: 429,
  unresolved: 502,
  unreachable: 502,
  closed: 502,
};

/** How a refusal is answered: status and one line of text. */
export function refusalAnswer(reason: NetworkReason): { readonly status: number; readonly text: string } {
  return { status: STATUS[reason] ?? 403, text: `sandlot: ${SENTENCES[reason]} (${reason})\n` };
}
