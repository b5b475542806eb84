/**
 * Reads the head of a proxied request strictly: one meaning or a refusal. Also builds the heads that go on, without the
 * hop-by-hop fields, so that nothing a client wrote for the proxy reaches the other side. Pure.
 */
import { type Host, parseHost, splitAuthority } from "./address.ts";

export interface RequestTarget {
  /** As written, for the record. */
  readonly written: string;
  readonly host: Host;
  readonly port: number;
  /** Path and query as written; empty for a tunnel. */
  readonly path: string;
}

/** `http://host[:port]/path`; null for anything else: another scheme, user information, a fragment, no host. */
export function absoluteTarget(url: string): RequestTarget | null {
  const match = /^http:\/\/([^/?#]+)([/?](?:(?![#\\])[\x21-\x7e])*)?$/i.exec(url);
  const split = match === null ? null : splitAuthority(match[1] ?? "");
  if (match === null || split === null) return null;
  const rest = match[2] ?? "/";
  return {
    written: split.host,
    host: parseHost(split.host),
    port: split.port ?? 80,
    path: rest.startsWith("?") ? `/${rest}` : rest,
  };
}

/** `host:port` of a CONNECT; null for anything else. */
export function tunnelTarget(authority: string): RequestTarget | null {
  const split = splitAuthority(authority);
  if (split === null || split.port === null) return null;
  return { written: split.host, host: parseHost(split.host), port: split.port, path: "" };
}

/** All values of one header, from a raw list of names and values. */
export function headerValues(raw: readonly string[], name: string): readonly string[] {
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);
}

/** Whether the Host header names the target: exactly one, with the same port; none only where HTTP/1.0 may omit it. */
export function hostAgrees(raw: readonly string[], target: RequestTarget, isOptional: boolean): boolean {
  const values = headerValues(raw, "host");
  if (values.length === 0) return isOptional;
  const split = values.length === 1 ? splitAuthority(values[0] ?? "") : null;
  if (split === null) return false;
  const host = parseHost(split.host);
  if (host.kind === "odd" || target.host.kind === "odd" || host.text !== target.host.text) return false;
  /* A tunnel's Host may leave out the port that the authority must name. */
  const isTunnel = target.path === "";
  return split.port === null ? isTunnel || target.port === 80 : split.port === target.port;
}

/** Whether the length of the body can be read in two ways, or by a coding that is not carried on. */
export function isAmbiguous(raw: readonly string[]): boolean {
  const lengths = headerValues(raw, "content-length");
  const codings = headerValues(raw, "transfer-encoding");
  if (lengths.length + codings.length > 1) return true;
  if (codings.length === 1 && codings[0]?.trim().toLowerCase() !== "chunked") return true;
  return lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0] ?? "");
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
]);

/** The raw list without hop-by-hop fields, those that `Connection` names, and `also` (in lower case). */
export function endToEnd(raw: readonly string[], also: ReadonlySet<string> = new Set()): string[] {
  const named = new Set(
    headerValues(raw, "connection").flatMap((value) => value.split(",").map((name) => name.trim().toLowerCase())),
  );
  /* Without its length a body would be read to the connection's end. */
  named.delete("content-length");
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = "", value = ""] = raw.slice(at, at + 2);
    const key = name.toLowerCase();
    if (!HOP_BY_HOP.has(key) && !named.has(key) && !also.has(key)) kept.push(name, value);
  }
  return kept;
}

/**
 * A path that a server may read as another one: dot segments, also encoded, encoded twice or with parameters (`..;x`), and
 * backslashes.
 */
export function isCrookedPath(path: string): boolean {
  const [plain = ""] = path.split("?", 1);
  const decoded = plain
    .replaceAll(/%(?:25)+/gi, "%")
    .replaceAll(/%2e/gi, ".")
    .replaceAll(/%2f/gi, "/")
    .replaceAll(/%5c/gi, "\\")
    .replaceAll(/%3b/gi, ";");
  return decoded.includes("\\") || decoded.split("/").some((part) => /^\.\.?(?:;|$)/.test(part));
}
