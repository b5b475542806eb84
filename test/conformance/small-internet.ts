/**
 * A small internet for the network cases: names, public addresses and servers that exist only here. A provider under test
 * is made with `SMALL_INTERNET` as its proxy options. No rule is weakened: the proxy resolves, checks and connects as ever,
 * and only the last step, the connection to a checked public address, ends at a server of this process.
 */
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { ProxyOptions } from "../../src/sandbox/proxy/proxy.ts";

/** Public addresses of the servers. */
export const WEB = "93.184.216.34";
export const OTHER = "93.184.216.35";
export const ROUTE_SECRET = "route-secret-4711";

export interface SmallInternet {
  /** Addresses a name answers with; a function may answer differently each time. */
  readonly names: Map<string, readonly string[] | (() => readonly string[])>;
  /** `address:port` of every connection the proxy made, in order. */
  readonly dialled: string[];
  /** Method, host and path of every request that reached the web server, and the first bytes of every tunnel. */
  readonly requests: string[];
  /** Headers of every request that reached the route's target. */
  readonly routed: IncomingMessage["headers"][];
}

interface Live extends SmallInternet {
  readonly webPort: number;
  readonly tunnelPort: number;
}

let live: Live | null = null;
const routeTarget = new URL("http://127.0.0.1:1/base");

function current(): Live {
  if (live === null) throw new Error("The small internet is there only inside withSmallInternet.");
  return live;
}

export const SMALL_INTERNET: ProxyOptions = {
  routes: [
    { host: "model.sandlot.invalid", target: routeTarget, headers: { Authorization: `Bearer ${ROUTE_SECRET}` } },
  ],
  resolve: async (name) => {
    const answer = live?.names.get(name) ?? [];
    return typeof answer === "function" ? answer() : answer;
  },
  connect: (address, port) => {
    const { dialled, webPort, tunnelPort } = current();
    dialled.push(`${address}:${port}`);
    return connect({ host: "127.0.0.1", port: port === 443 ? tunnelPort : webPort, allowHalfOpen: true });
  },
};

/** Answers `/to?URL` with a redirect, everything else with what it got. A tunnel is answered with "tunnelled". */
export async function withSmallInternet(use: (internet: SmallInternet) => Promise<void>): Promise<void> {
  const requests: string[] = [];
  const routed: IncomingMessage["headers"][] = [];
  const sockets = new Set<Socket>();
  const web = createHttpServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    const to = /^\/to\?(.+)$/.exec(request.url ?? "")?.[1];
    if (to !== undefined) response.writeHead(302, { Location: to });
    response.end(`web ${request.url}`);
  });
  const route = createHttpServer((request, response) => {
    routed.push(request.headers);
    response.end(`model ${request.url}`);
  });
  const tunnel = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      requests.push(`tunnel ${bytes[0]}`);
      socket.end("tunnelled");
    });
  });
  const servers: readonly Server[] = [web, route, tunnel];
  for (const server of servers)
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
  const [webPort = 0, routePort = 0, tunnelPort = 0] = await Promise.all(servers.map(listening));
  routeTarget.port = String(routePort);
  live = {
    names: new Map([
      ["web.example.org", [WEB]],
      ["other.example.net", [OTHER]],
    ]),
    dialled: [],
    requests,
    routed,
    webPort,
    tunnelPort,
  };
  try {
    await use(live);
  } finally {
    live = null;
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
