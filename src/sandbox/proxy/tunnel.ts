/**
 * `CONNECT host:port`: a tunnel for TLS. The host is decided and dialled first; then nothing passes until the client's
 * first TLS message names that very host. What is inside stays encrypted, so a certificate is checked end to end.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { NetworkReason } from "../../core/sandbox.ts";
import { type ClientHello, readClientHello } from "./client-hello.ts";
import { beginExchange, dialFor, type Exchange, type ProxyState, refusalAnswer, refusalOf } from "./exchange.ts";
import { isRouteName } from "./host-rules.ts";
import type { RelayConnection } from "./relay.ts";
import { hostAgrees, tunnelTarget } from "./request-head.ts";

/** A client that has its tunnel and says nothing is closed. */
const HELLO_MS_MAX = 30_000;

/** Serves one CONNECT. */
export async function tunnel(
  state: ProxyState,
  connection: RelayConnection,
  incoming: IncomingMessage,
  early: Buffer,
): Promise<void> {
  const target = tunnelTarget(incoming.url ?? "");
  const exchange = beginExchange(
    state,
    target ?? { written: incoming.url ?? "", host: { kind: "odd" }, port: 0, path: "" },
    connection,
  );
  const refuse = (reason: NetworkReason): void => {
    const { status, text } = refusalAnswer(reason);
    connection.write(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
    );
    connection.destroySoon();
  };
  const reason =
    target === null
      ? "request_malformed"
      : target.host.kind === "name" && isRouteName(target.host.text)
        ? "not_tls"
        : target.host.kind !== "odd" && !hostAgrees(incoming.rawHeaders, target, true)
          ? "host_mismatch"
          : refusalOf(state, target.host, target.port);
  if (reason !== null) {
    exchange.attempt.refuse(reason);
    refuse(reason);
    return;
  }
  const upstream = await dialFor(state, exchange);
  if (typeof upstream === "string") {
    refuse(upstream);
    return;
  }
  connection.once("close", () => upstream.destroy());
  connection.write("HTTP/1.1 200 Connection established\r\n\r\n");
  const hello = await firstMessage(state, connection, early);
  const wrong = hello === null ? "closed" : helloRefusal(state, exchange, hello.message);
  if (wrong !== null || hello === null) {
    exchange.attempt.refuse(wrong ?? "closed");
    connection.destroy(new Error(wrong ?? "closed"));
    return;
  }
  splice(exchange, connection, upstream, hello.bytes);
}

function helloRefusal(state: ProxyState, exchange: Exchange, hello: ClientHello): NetworkReason | null {
  if (hello.kind !== "hello") return "not_tls";
  /* A hidden name could be another host of the same address. Where every host is allowed it hides nothing. */
  if (hello.isHidden && state.rules.policy.mode !== "open") return "server_name_mismatch";
  const { host } = exchange;
  const named = host.kind === "name" ? host.text : null;
  return hello.name === named ? null : "server_name_mismatch";
}

/** Reads until the client's first message is whole; null when the connection ends before, or nothing comes. */
function firstMessage(
  state: ProxyState,
  connection: RelayConnection,
  early: Buffer,
): Promise<{ readonly message: ClientHello; readonly bytes: Buffer } | null> {
  return new Promise((resolve) => {
    let bytes = early;
    const cancel = state.runtime.timer(HELLO_MS_MAX, () => settle(null));
    const settle = (result: { readonly message: ClientHello; readonly bytes: Buffer } | null): void => {
      cancel();
      connection.pause();
      connection.off("data", onData);
      connection.off("end", onEnd);
      connection.off("close", onEnd);
      resolve(result);
    };
    const look = (): void => {
      const message = readClientHello(bytes);
      if (message.kind !== "incomplete") settle({ message, bytes });
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      look();
    };
    const onEnd = (): void => settle(null);
    connection.on("data", onData);
    connection.on("end", onEnd);
    connection.on("close", onEnd);
    if (bytes.length > 0) look();
  });
}

/** Joins both ends; each direction ends on its own, and an error of one end is the other's. */
function splice(exchange: Exchange, connection: RelayConnection, upstream: Duplex, first: Buffer): void {
  upstream.once("close", () => {
    if (!upstream.readableEnded) {
      exchange.attempt.note("unreachable");
      connection.destroy(new Error("the other end was lost"));
    }
  });
  upstream.write(first);
  connection.pipe(upstream);
  upstream.pipe(connection);
}
