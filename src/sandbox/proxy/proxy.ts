/**
 * The proxy of one sandbox, in the host process: an HTTP/1.1 server that listens nowhere and is handed the connections of
 * the sandbox's relay. Node's parser reads the requests, strictly. It holds the rules in force and can change them.
 */
import { createServer, type IncomingMessage } from "node:http";
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import { type ConnectAddress, connectAddress, type ResolveName, systemResolve } from "./dial.ts";
import { type ProxyCaps, type ProxyRoute, type ProxyState, refusalAnswer } from "./exchange.ts";
import { forward } from "./forward.ts";
import { type HostRules, hostRules, isRouteName } from "./host-rules.ts";
import type { NetworkAudit } from "./network-audit.ts";
import type { RelayConnection } from "./relay.ts";
import { requestPace } from "./request-pace.ts";
import { tunnel } from "./tunnel.ts";

/** What a provider is given for the networks of its sandboxes; none of it is part of a request or a record. */
export interface ProxyOptions {
  readonly routes?: readonly ProxyRoute[];
  readonly caps?: Partial<ProxyCaps>;
  /** Default: the machine's DNS servers. Its answers are checked like any. */
  readonly resolve?: ResolveName;
  /** Default: a TCP connection. It is only ever given a public address that was checked. */
  readonly connect?: ConnectAddress;
}

export interface SandboxProxy {
  serve(connection: RelayConnection): void;
  readonly rules: HostRules;
  /** In force at once; exchanges they do not allow are closed. */
  setRules(rules: HostRules): void;
}

const HEAD_BYTES_MAX = 32_768;
const CAPS: ProxyCaps = { bytesMax: 16 * 2 ** 30, timeMsMax: 86_400_000, idleMs: 900_000 };

/** Throws `request_invalid` for a route that could shadow a real host. */
export function checkRoutes(routes: readonly ProxyRoute[]): void {
  for (const { host, target } of routes) {
    if (!isRouteName(host) || host !== host.toLowerCase())
      throw new Failure(
        "request_invalid",
        `Proxy route "${host}" must be a lower-case name ending in ".invalid", such as "model.sandlot.invalid".`,
      );
    if (target.protocol !== "http:" && target.protocol !== "https:")
      throw new Failure("request_invalid", `The target of proxy route "${host}" must be an http: or https: URL.`);
  }
}

export function sandboxProxy(runtime: Runtime, options: ProxyOptions, audit: NetworkAudit): SandboxProxy {
  const routes = options.routes ?? [];
  checkRoutes(routes);
  const state: ProxyState = {
    runtime,
    audit,
    routes,
    caps: { ...CAPS, ...options.caps },
    resolve: options.resolve ?? systemResolve(),
    connect: options.connect ?? connectAddress,
    rules: hostRules({ mode: "off" }),
    startedMs: null,
    exchanges: new Set(),
  };
  const server = createServer({ maxHeaderSize: HEAD_BYTES_MAX, requireHostHeader: false, insecureHTTPParser: false });
  /* The server was handed the connection as its socket. */
  const connectionOf = (incoming: IncomingMessage): RelayConnection => incoming.socket as unknown as RelayConnection;
  /* What a sandbox sends must never be able to end this process. */
  const orCut = (connection: RelayConnection, work: Promise<void>): void =>
    void work.catch((error: Error) => connection.destroy(error));
  const pace = requestPace(runtime);
  /** False for a request that is not answered: the rest of what came on a connection that was cut, or one too many. */
  const isAdmitted = (connection: RelayConnection): boolean => {
    if (connection.destroyed) return false;
    if (pace.take()) return true;
    audit.open("", 0, connection, "limit").finish();
    connection.destroy(new Error("limit"));
    return false;
  };
  server.on("request", (incoming, response) => {
    const connection = connectionOf(incoming);
    if (!isAdmitted(connection)) return;
    orCut(connection, forward(state, connection, incoming, response));
  });
  server.on("connect", (incoming, _socket, early) => {
    const connection = connectionOf(incoming);
    if (!isAdmitted(connection)) return;
    orCut(connection, tunnel(state, connection, incoming, early));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const connection = socket as unknown as RelayConnection;
    if (error.code?.startsWith("HPE_") !== true || !connection.writable) {
      connection.destroy();
      return;
    }
    if (!isAdmitted(connection)) return;
    audit.open("", 0, connection, "request_malformed").finish();
    const { status, text } = refusalAnswer("request_malformed");
    connection.write(
      `HTTP/1.1 ${status} Refused\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
    );
    connection.destroySoon();
  });
  return {
    serve: (connection) => {
      watchConnection(state, connection);
      const callOff = pace.admit(() => server.emit("connection", connection));
      connection.once("close", callOff);
    },
    get rules() {
      return state.rules;
    },
    setRules: (rules) => {
      state.rules = rules;
      if (rules.policy.mode !== "off") state.startedMs ??= runtime.monotonic();
      for (const exchange of state.exchanges) {
        const { host, port } = exchange;
        const isRoute = host.kind === "name" && isRouteName(host.text);
        const isAllowed = isRoute ? rules.lists(host.text, port) : rules.refusal(host, port) === null;
        if (!isAllowed) exchange.cut("closed");
      }
    },
  };
}

/** Counts the bytes of a connection, and closes it when it is silent for long or a cap is reached. */
function watchConnection(state: ProxyState, connection: RelayConnection): void {
  const { runtime, audit, caps } = state;
  let heardMs = runtime.monotonic();
  const cut = (): void => {
    for (const exchange of state.exchanges) if (exchange.connection === connection) exchange.attempt.note("limit");
    connection.destroy(new Error("limit"));
  };
  /* One that carries nothing yet is answered with the reason. */
  const isCarrying = (): boolean =>
    [...state.exchanges].some((exchange) => exchange.connection === connection && exchange.attempt.isAllowed);
  const look = (): void => {
    const silentMs = runtime.monotonic() - heardMs;
    const isLate = state.startedMs !== null && runtime.monotonic() - state.startedMs > caps.timeMsMax;
    if (isLate || silentMs >= caps.idleMs) cut();
    else cancel = runtime.timer(Math.max(1, caps.idleMs - silentMs), look);
  };
  let cancel = runtime.timer(caps.idleMs, look);
  connection.onBytes = (bytesTo, bytesFrom) => {
    heardMs = runtime.monotonic();
    audit.count(bytesTo, bytesFrom);
    if (audit.bytes > caps.bytesMax && isCarrying()) cut();
  };
  connection.on("close", () => cancel());
  /* Each pipelined request watches for the end. */
  connection.setMaxListeners(0);
}
