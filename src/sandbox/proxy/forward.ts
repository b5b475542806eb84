/**
 * A plain request to the proxy, `GET http://host/path`: decided, sent on with a head built anew, answered. A redirect is
 * an answer like any other; following it is a new request. A route is sent to its target with the headers it adds.
 */
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import { request as requestTls } from "node:https";
import { pipeline } from "node:stream";
import type { NetworkReason } from "../../core/sandbox.ts";
import {
  beginExchange,
  dialFor,
  type Exchange,
  type ProxyRoute,
  type ProxyState,
  refusalAnswer,
  refusalOf,
} from "./exchange.ts";
import type { RelayConnection } from "./relay.ts";
import {
  absoluteTarget,
  endToEnd,
  headerValues,
  hostAgrees,
  isAmbiguous,
  isCrookedPath,
  type RequestTarget,
} from "./request-head.ts";

const NO_TARGET: RequestTarget = { written: "", host: { kind: "odd" }, port: 0, path: "/" };
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** Answers one request. Throws where a head cannot be sent on; the connection is then of no more use. */
export async function forward(
  state: ProxyState,
  connection: RelayConnection,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = absoluteTarget(incoming.url ?? "");
  const exchange = beginExchange(state, target ?? NO_TARGET, connection);
  response.on("close", exchange.finish);
  const route = state.routes.find((each) => target?.host.kind === "name" && target.host.text === each.host);
  const reason = headRefusal(state, incoming, target, route);
  if (reason !== null || target === null) {
    exchange.attempt.refuse(reason ?? "request_malformed");
    refuse(response, reason ?? "request_malformed");
    return;
  }
  const upstream = await requestFor(state, exchange, target, route, incoming);
  if (typeof upstream === "string") refuse(response, upstream);
  else relay(exchange, upstream, incoming, response);
}

/** What the head alone tells. */
function headRefusal(
  state: ProxyState,
  incoming: IncomingMessage,
  target: RequestTarget | null,
  route: ProxyRoute | undefined,
): NetworkReason | null {
  const raw = incoming.rawHeaders;
  if (target === null || isAmbiguous(raw)) return "request_malformed";
  if (target.host.kind === "odd") return "host_malformed";
  if (!hostAgrees(raw, target, incoming.httpVersion === "1.0")) return "host_mismatch";
  /* An offer of HTTP/2 may be ignored; who asks for a websocket wants nothing else. */
  if (headerValues(raw, "upgrade").some((value) => value.trim().toLowerCase() !== "h2c")) return "upgrade";
  if (route === undefined) return refusalOf(state, target.host, target.port);
  if (!state.rules.lists(route.host, target.port)) return "not_listed";
  /* TRACE would show the added headers; a crooked path could leave the target's folder. */
  if (incoming.method === "TRACE" || isCrookedPath(target.path)) return "request_malformed";
  return refusalOf(state, target.host, target.port);
}

/** The request on its way, its body still to come; or why there is none. */
async function requestFor(
  state: ProxyState,
  exchange: Exchange,
  target: RequestTarget,
  route: ProxyRoute | undefined,
  incoming: IncomingMessage,
): Promise<ClientRequest | NetworkReason> {
  const method = incoming.method ?? "GET";
  if (route !== undefined) {
    exchange.attempt.allow(null);
    return requestToRoute(route, method, target.path, incoming.rawHeaders);
  }
  const socket = await dialFor(state, exchange);
  if (typeof socket === "string") return socket;
  const host = headerValues(incoming.rawHeaders, "host")[0] ?? target.written;
  return request({
    method,
    path: target.path,
    setHost: false,
    headers: ["Host", host, ...bodyAndRest(method, incoming.rawHeaders, new Set(["host"])), "Connection", "close"],
    createConnection: () => socket,
  });
}

function requestToRoute(route: ProxyRoute, method: string, path: string, raw: readonly string[]): ClientRequest {
  const { target, headers } = route;
  const replaced = new Set(["host", ...Object.keys(headers).map((name) => name.toLowerCase())]);
  const options = {
    method,
    path: `${target.pathname.replace(/\/$/, "")}${path}`,
    protocol: target.protocol,
    hostname: target.hostname.replaceAll(/[[\]]/g, ""),
    port: target.port === "" ? (target.protocol === "https:" ? 443 : 80) : Number(target.port),
    setHost: false,
    agent: false as const,
    headers: [
      "Host",
      target.host,
      ...bodyAndRest(method, raw, replaced),
      ...Object.entries(headers).flat(),
      "Connection",
      "close",
    ],
  };
  return target.protocol === "https:" ? requestTls(options) : request(options);
}

/** The client's end-to-end headers, and a body's coding where it has one of unknown length. */
function bodyAndRest(method: string, raw: readonly string[], also: ReadonlySet<string>): string[] {
  const rest = endToEnd(raw, also);
  if (headerValues(raw, "transfer-encoding").length > 0) return [...rest, "Transfer-Encoding", "chunked"];
  const hasLength = headerValues(raw, "content-length").length > 0;
  return hasLength || BODILESS.has(method) ? rest : [...rest, "Content-Length", "0"];
}

function relay(exchange: Exchange, upstream: ClientRequest, incoming: IncomingMessage, response: ServerResponse): void {
  const fail = (): void => {
    exchange.attempt.note("unreachable");
    upstream.destroy();
    if (response.headersSent) response.destroy();
    else refuse(response, "unreachable");
  };
  upstream.on("error", fail);
  upstream.on("response", (answer) => {
    try {
      response.sendDate = false;
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    } catch {
      fail();
      return;
    }
    /* The head goes at once: a stream of events may be silent for long. */
    response.flushHeaders();
    pipeline(answer, response, (error) => {
      if (error) response.destroy();
    });
  });
  response.on("close", () => upstream.destroy());
  pipeline(incoming, upstream, () => undefined);
}

function refuse(response: ServerResponse, reason: NetworkReason): void {
  if (response.destroyed || response.headersSent) return;
  const { status, text } = refusalAnswer(reason);
  /* What is left of a refused body is not worth reading. */
  const { "content-length": length = "0", "transfer-encoding": coding } = response.req.headers;
  const isBodyLeft = length !== "0" || coding !== undefined;
  const close = reason === "request_malformed" || isBodyLeft ? { Connection: "close" } : {};
  response.writeHead(status, { "Content-Type": "text/plain", "Content-Length": Buffer.byteLength(text), ...close });
  response.end(text);
}
