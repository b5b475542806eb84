/**
 * A network policy made ready for decisions: its entries parsed once, compared exactly. Also tells whether one policy is
 * within another, which is what a change of a live sandbox must be. Pure.
 */
import { Failure } from "../../core/errors.ts";
import type { NetworkPolicy, NetworkReason } from "../../core/sandbox.ts";
import { type Host, isPublicAddress, parseHost, splitAuthority } from "./address.ts";

/** What an entry without a port, and the mode `open`, allow. */
const DEFAULT_PORTS: readonly number[] = [80, 443];
const HOSTS_MAX = 1_000;

interface Entry {
  /** Of a wildcard: what a name must end in, with its dot. */
  readonly text: string;
  readonly isWildcard: boolean;
  readonly ports: readonly number[];
}

export interface HostRules {
  readonly policy: NetworkPolicy;
  /** Null when the policy allows it; addresses are still checked after the name was resolved. */
  refusal(host: Host, port: number): NetworkReason | null;
  /** True where an entry names it; `open` alone names nothing. */
  lists(name: string, port: number): boolean;
}

/** Throws `request_invalid` naming the entry that is none. */
export function hostRules(policy: NetworkPolicy): HostRules {
  const entries = entriesOf(policy);
  const matching = (text: string): readonly Entry[] =>
    entries.filter((entry) => (entry.isWildcard ? text.endsWith(entry.text) : text === entry.text));
  const lists = (text: string, port: number): boolean => matching(text).some((entry) => entry.ports.includes(port));
  return {
    policy,
    lists,
    refusal: (host, port) => {
      if (host.kind === "odd") return "host_malformed";
      if (host.kind === "address" && !isPublicAddress(host.text)) return "address_not_public";
      if (lists(host.text, port)) return null;
      if (policy.mode === "open") return DEFAULT_PORTS.includes(port) ? null : "port_not_listed";
      return matching(host.text).length > 0 ? "port_not_listed" : "not_listed";
    },
  };
}

/** Whether `inner` allows nothing that `outer` does not. Throws `request_invalid` for a malformed entry of either. */
export function isWithin(inner: NetworkPolicy, outer: NetworkPolicy): boolean {
  if (inner.mode === "off") return true;
  if (outer.mode === "off" || (inner.mode === "open" && outer.mode !== "open")) return false;
  const wider = entriesOf(outer);
  return entriesOf(inner).every((entry) =>
    entry.ports.every(
      (port) =>
        wider.some((other) => covers(other, entry) && other.ports.includes(port)) ||
        /* A route is named, never part of "everything public". */
        (outer.mode === "open" && DEFAULT_PORTS.includes(port) && !isRouteName(entry.text)),
    ),
  );
}

function covers(outer: Entry, inner: Entry): boolean {
  if (outer.isWildcard) return inner.text.endsWith(outer.text);
  return !inner.isWildcard && outer.text === inner.text;
}

/** Names for routes end in `.invalid`, which no resolver answers, so that a route never hides a real host. */
export function isRouteName(name: string): boolean {
  return name.endsWith(".invalid");
}

function entriesOf(policy: NetworkPolicy): readonly Entry[] {
  const hosts = policy.mode === "off" ? [] : (policy.hosts ?? []);
  if (hosts.length > HOSTS_MAX)
    throw new Failure("request_invalid", `A network policy may name at most ${HOSTS_MAX} hosts, not ${hosts.length}.`);
  return hosts.map(entryOf);
}

function entryOf(written: string): Entry {
  const isWildcard = written.startsWith("*.");
  const split = splitAuthority(isWildcard ? written.slice(2) : written);
  const host = split === null ? null : parseHost(split.host);
  const isUsable = host?.kind === "name" || (host?.kind === "address" && !isWildcard && isPublicAddress(host.text));
  if (split === null || host === null || host.kind === "odd" || !isUsable)
    throw new Failure(
      "request_invalid",
      `Network host "${written.slice(0, 256)}" cannot be allowed. Write a full name such as "example.org" or "*.example.org", ` +
        `or a public address such as "[2600::1]", with ":port" for a port other than 80 and 443, and other scripts as "xn--…".`,
    );
  const ports = split.port === null ? DEFAULT_PORTS : [split.port];
  return { text: isWildcard ? `.${host.text}` : host.text, isWildcard, ports };
}
