/**
 * Addresses as a proxy must see them: what a host in a request is (a name, an address, or a spelling meant to hide one),
 * and whether an address belongs to the public internet. Pure; the tables follow the IANA special-purpose registries.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** A host as written in a request or a policy. `odd`: an address spelled so that naive checks miss it, or no host at all. */
export type Host =
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "address"; readonly text: string }
  | { readonly kind: "odd" };

const NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** The last label of a name that some resolver would read as a number. */
const NUMERIC_END = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/**
 * Reads one host; IPv6 comes in brackets. Dotted decimals and IPv6 are addresses. Everything else that could be read as
 * one (2130706433, 0x7f.1, 0177.0.0.1, 127.1), a trailing dot, a name of one label and characters beyond ASCII are odd.
 */
export function parseHost(written: string): Host {
  const text = written.toLowerCase();
  if (text.startsWith("[")) {
    const inner = text.endsWith("]") ? text.slice(1, -1) : "";
    return isIPv6(inner) && !inner.includes("%")
      ? { kind: "address", text: formatSixteen(bytesOfSixteen(inner)) }
      : { kind: "odd" };
  }
  if (isIPv4(text)) return { kind: "address", text };
  return NAME.test(text) && !NUMERIC_END.test(text) ? { kind: "name", text } : { kind: "odd" };
}

/** Cuts `host:port`, `host`, `[v6]:port` or `[v6]`; null when it is none of these. `port` is null where none is written. */
export function splitAuthority(text: string): { readonly host: string; readonly port: number | null } | null {
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]@/?#\s]+)(?::([1-9]\d{0,4}))?$/i.exec(text);
  if (match === null) return null;
  const port = match[2] === undefined ? null : Number(match[2]);
  return port !== null && port > 65_535 ? null : { host: match[1] ?? "", port };
}

const FOUR_CLOSED: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // metadata and DNS of a large cloud, on a public number
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Within 2000::/3, outside of which nothing is global unicast. */
const SIX_CLOSED: readonly (readonly [string, number])[] = [
  ["2001::", 23], // Teredo, benchmarks, identifiers
  ["2001:db8::", 32],
  ["2002::", 16], // 6to4 carries any IPv4 address
  ["3fff::", 20],
];

const closed = new BlockList();
for (const [net, bits] of FOUR_CLOSED) closed.addSubnet(net, bits, "ipv4");
for (const [net, bits] of SIX_CLOSED) closed.addSubnet(net, bits, "ipv6");
const globalSix = new BlockList();
globalSix.addSubnet("2000::", 3, "ipv6");
/** NAT64: the only place where an IPv4 address inside an IPv6 one is looked at, rather than refused. */
const translated = new BlockList();
translated.addSubnet("64:ff9b::", 96, "ipv6");

/**
 * Whether an address is one of the public internet. Loopback, private, carrier, link-local, unique-local, multicast,
 * documentation, reserved, IPv4-mapped and metadata addresses are not, nor is text that is no address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, "ipv4");
  if (!isIPv6(address) || address.includes("%")) return false;
  if (translated.check(address, "ipv6")) return isPublicAddress([...bytesOfSixteen(address).subarray(12)].join("."));
  return globalSix.check(address, "ipv6") && !closed.check(address, "ipv6");
}

/** The sixteen bytes of a valid IPv6 address without zone. */
function bytesOfSixteen(text: string): Uint8Array {
  const four = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const hex = (high: string | undefined, low: string | undefined): string =>
    ((Number(high) << 8) | Number(low)).toString(16);
  const plain = four === null ? text : `${four[1]}${hex(four[2], four[3])}:${hex(four[4], four[5])}`;
  const [head = "", tail] = plain.split("::");
  const groups = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((each) => Number.parseInt(each, 16));
  const before = groups(head);
  const after = groups(tail ?? "");
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** One spelling for each address: eight groups without leading zeros. */
function formatSixteen(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16),
  );
  return groups.join(":");
}
