import fc from "fast-check";
import { expect, test } from "vitest";
import { isPublicAddress, parseHost, splitAuthority } from "./address.ts";

test("a full name is a name, in lower case", () => {
  for (const name of ["example.org", "A.Example.ORG", "xn--bcher-kva.example", "_dmarc.example.org", "a-b.c-d.e"])
    expect(parseHost(name)).toEqual({ kind: "name", text: name.toLowerCase() });
});

test("an address has one spelling", () => {
  expect(parseHost("93.184.216.34")).toEqual({ kind: "address", text: "93.184.216.34" });
  for (const written of ["[2600:0:0:0:0:0:0:1]", "[2600::1]", "[2600:0000::0.0.0.1]"])
    expect(parseHost(written)).toEqual({ kind: "address", text: "2600:0:0:0:0:0:0:1" });
});

test("what could be read as an address by someone, or is no full name, is odd", () => {
  const numbers = ["2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "1.2.3.4.5", "256.1.1.1"];
  const brackets = ["[::1", "::1", "[127.0.0.1]", "[fe80::1%eth0]", "[]", "[::1]x"];
  const names = ["", ".", "a", "localhost", "a..b", ".a.b", "a.b.", "-a.b", "a-.b", "a b.c", "a.b\0", "bücher.example"];
  const tricks = ["a.b/", "a.b#", "a.b?", "a@b.c", "a.b\\", "a%2e.b", "a.1", "a.0x1", "127。0。0。1", "①.example"];
  for (const written of [...numbers, ...brackets, ...names, ...tricks, `${"a.".repeat(127)}aa`])
    expect([written, parseHost(written).kind]).toEqual([written, "odd"]);
});

test("no text is read as a host that WHATWG would take to another one", () => {
  const pieces = fc.constantFrom("0x", "0", "7f", "127", "1", ".", "a", "-", "b", "255", "[", "]", ":", "::", "%", "_");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 10 }), (parts) => {
      const written = parts.join("");
      const host = parseHost(written);
      if (host.kind === "odd") return;
      const { hostname } = new URL(`http://${written}/`);
      const other = hostname.startsWith("[") ? parseHost(hostname) : { kind: host.kind, text: hostname };
      expect(other).toEqual(host);
    }),
    { numRuns: 20_000 },
  );
});

test("an authority is a host and at most one port", () => {
  expect(splitAuthority("example.org")).toEqual({ host: "example.org", port: null });
  expect(splitAuthority("example.org:8443")).toEqual({ host: "example.org", port: 8443 });
  expect(splitAuthority("[::1]:80")).toEqual({ host: "[::1]", port: 80 });
  for (const bad of [
    "",
    ":80",
    "a.b:",
    "a.b:0",
    "a.b:080",
    "a.b:65536",
    "a.b:+80",
    "a.b:8o",
    "u@a.b:80",
    "a.b:80:80",
    "a.b /",
  ])
    expect([bad, splitAuthority(bad)]).toEqual([bad, null]);
});

// biome-ignore format: a table
const INNER = [
  "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
  "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.0",
  "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.0.0", "192.168.255.255", "198.18.0.1", "198.19.255.255",
  "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
  "::ffff:127.0.0.1", "::ffff:93.184.216.34", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1",
  "fe80::1", "fe80::a9fe:a9fe", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001::1", "2001:db8::1",
  "2002:a00:1::", "3fff::1", "4000::1", "fe80::1%eth0", "", "example.org", "127.1", "2130706433",
];
// biome-ignore format: a table
const PUBLIC = [
  "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
  "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
  "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2600::1", "2a00::1",
  "2001:4860:4860::8888", "64:ff9b::93.184.216.34",
];

test("inner, reserved and metadata addresses are not public, to their last neighbour", () => {
  expect(INNER.filter(isPublicAddress)).toEqual([]);
  expect(PUBLIC.filter((address) => !isPublicAddress(address))).toEqual([]);
});

test("no IPv6 address outside the global range is public, but those translated from a public IPv4 one", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const host = parseHost(`[${address}]`);
      if (host.kind !== "address") return;
      expect(isPublicAddress(host.text)).toBe(isPublicAddress(address));
      const first = Number.parseInt(host.text.split(":")[0] ?? "", 16);
      if (isPublicAddress(address)) expect(first === 0x64 || (first >= 0x2000 && first <= 0x3fff)).toBe(true);
    }),
  );
});
