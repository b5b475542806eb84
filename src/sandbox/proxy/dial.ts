/**
 * From a host that the policy allows to a connection: resolves the name once, checks every address of the answer, and
 * connects to one of the very addresses it checked. Nothing looks the name up again, so a rebinding name gains nothing.
 */
import { Resolver } from "node:dns/promises";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Runtime } from "../../core/runtime.ts";
import type { NetworkReason } from "../../core/sandbox.ts";
import { type Host, isPublicAddress } from "./address.ts";

/** Gives every address of a name; an empty list, or a throw, means that it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;
/** Begins a connection to an address. The stream emits `connect` when it stands. */
export type ConnectAddress = (address: string, port: number) => Duplex;

const CONNECT_MS_MAX = 10_000;
const RESOLVE_MS_MAX = 5_000;
/** Of an answer's addresses, tried in order. */
const TRIES_MAX = 3;

interface Dialled {
  readonly socket: Duplex;
  readonly address: string;
}

/** A connection that stands, or why there is none. An answer with one address that is not public is refused whole. */
export async function dial(
  host: Exclude<Host, { readonly kind: "odd" }>,
  port: number,
  by: { readonly runtime: Runtime; readonly resolve: ResolveName; readonly connect: ConnectAddress },
): Promise<Dialled | NetworkReason> {
  const addresses = host.kind === "address" ? [host.text] : await by.resolve(host.text).catch(() => []);
  if (addresses.length === 0) return "unresolved";
  if (!addresses.every(isPublicAddress)) return "address_not_public";
  for (const address of addresses.slice(0, TRIES_MAX)) {
    const socket = await connected(by.connect(address, port), by.runtime);
    if (socket !== null) return { socket, address };
  }
  return "unreachable";
}

/** The stream once it stands; null when it failed or took too long. It is paused, so nothing is lost before it is used. */
function connected(socket: Duplex, runtime: Runtime): Promise<Duplex | null> {
  return new Promise((resolve) => {
    const cancel = runtime.timer(CONNECT_MS_MAX, () => settle(null));
    const settle = (result: Duplex | null): void => {
      cancel();
      socket.off("connect", succeed);
      socket.off("close", fail);
      if (result === null) socket.destroy();
      resolve(result);
    };
    const succeed = (): void => settle(socket);
    const fail = (): void => settle(null);
    /* Stays: a later error is its end, and the close that follows tells whoever uses it. */
    socket.on("error", () => undefined);
    socket.on("connect", succeed);
    socket.on("close", fail);
  });
}

/** The machine's DNS servers, IPv4 first. Its hosts file and search domains are not asked: they name what is not public. */
export function systemResolve(): ResolveName {
  let resolver: Resolver | null = null;
  return async (name) => {
    resolver ??= new Resolver({ timeout: RESOLVE_MS_MAX, tries: 2 });
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}

export function connectAddress(address: string, port: number): Socket {
  return connect({ host: address, port, allowHalfOpen: true, noDelay: true });
}
