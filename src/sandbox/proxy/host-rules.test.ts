import { expect, test } from "vitest";
import type { NetworkPolicy } from "../../core/sandbox.ts";
import { parseHost } from "./address.ts";
import { hostRules, isWithin } from "./host-rules.ts";

const listing = (...hosts: readonly string[]): NetworkPolicy => ({ mode: "allow-list", hosts });
const ask = (policy: NetworkPolicy, host: string, port: number): string | null =>
  hostRules(policy).refusal(parseHost(host), port);

test("a name is allowed at 80 and 443, and an entry with a port at that port alone", () => {
  const policy = listing("example.org", "db.example.org:5432");
  expect([80, 443, 8080].map((port) => ask(policy, "EXAMPLE.org", port))).toEqual([null, null, "port_not_listed"]);
  expect([5432, 443].map((port) => ask(policy, "db.example.org", port))).toEqual([null, "port_not_listed"]);
});

test("a wildcard is every name below, at any depth, and not the name itself", () => {
  const policy = listing("*.example.org");
  expect(["a.example.org", "a.b.example.org"].map((host) => ask(policy, host, 443))).toEqual([null, null]);
  for (const host of ["example.org", "badexample.org", "a.example.org.evil.net"])
    expect(ask(policy, host, 443)).toBe("not_listed");
});

test("an address is allowed only when it is listed, or everything public is", () => {
  expect(ask(listing("93.184.216.34"), "93.184.216.34", 80)).toBeNull();
  expect(ask(listing("[2600:0::1]:8443"), "[2600::1]", 8443)).toBeNull();
  expect(ask(listing("example.org"), "93.184.216.34", 80)).toBe("not_listed");
  expect(ask({ mode: "open" }, "93.184.216.34", 80)).toBeNull();
  expect(ask({ mode: "open" }, "10.0.0.1", 80)).toBe("address_not_public");
  expect(ask({ mode: "open" }, "0x7f.1", 80)).toBe("host_malformed");
});

test("where everything public is open, other ports and routes need an entry", () => {
  const policy: NetworkPolicy = { mode: "open", hosts: ["example.org:22", "model.sandlot.invalid"] };
  expect([80, 22, 23].map((port) => ask(policy, "example.org", port))).toEqual([null, null, "port_not_listed"]);
  expect(hostRules(policy).lists("model.sandlot.invalid", 80)).toBe(true);
  expect(hostRules({ mode: "open" }).lists("model.sandlot.invalid", 80)).toBe(false);
});

test("an entry that cannot be kept is refused by name", () => {
  const bad = [
    "",
    "*",
    "*.org",
    "a.*.org",
    "*.*.org",
    "localhost",
    "http://example.org",
    "example.org/",
    "example.org:0",
  ];
  const inner = [
    "127.0.0.1",
    "10.0.0.1:80",
    "[::1]",
    "169.254.169.254",
    "*.93.184.216.34",
    "bücher.example",
    "2130706433",
  ];
  for (const host of [...bad, ...inner])
    expect(() => hostRules(listing(host)), host).toThrow(
      expect.objectContaining({ code: "request_invalid", message: expect.stringContaining(`"${host}"`) }),
    );
  expect(() => hostRules(listing(...Array.from({ length: 1_001 }, (_, at) => `h${at}.example.org`)))).toThrow(/1000/);
});

test("a policy is within another only when it allows nothing more", () => {
  const off: NetworkPolicy = { mode: "off" };
  const open: NetworkPolicy = { mode: "open" };
  const yes: readonly (readonly [NetworkPolicy, NetworkPolicy])[] = [
    [off, off],
    [off, listing("example.org")],
    [listing(), listing("example.org")],
    [listing("a.example.org"), listing("*.example.org")],
    [listing("*.a.example.org"), listing("*.example.org")],
    [listing("example.org:443"), listing("example.org")],
    [listing("example.org"), listing("example.org:80", "example.org:443")],
    [listing("example.org", "93.184.216.34"), open],
    [listing("example.org:22"), { mode: "open", hosts: ["*.org.example", "example.org:22"] }],
    [open, { mode: "open", hosts: ["example.org:22"] }],
  ];
  const no: readonly (readonly [NetworkPolicy, NetworkPolicy])[] = [
    [listing("example.org"), off],
    [open, listing("*.example.org")],
    [listing("example.org"), listing("*.example.org")],
    [listing("*.example.org"), listing("a.example.org")],
    [listing("*.example.org"), listing("*.a.example.org")],
    [listing("example.org"), listing("example.org:443")],
    [listing("example.org:22"), open],
    [listing("model.sandlot.invalid"), open],
    [listing("*.sandlot.invalid"), open],
    [{ mode: "open", hosts: ["example.org:22"] }, open],
  ];
  for (const [inner, outer] of yes) expect(isWithin(inner, outer), JSON.stringify([inner, outer])).toBe(true);
  for (const [inner, outer] of no) expect(isWithin(inner, outer), JSON.stringify([inner, outer])).toBe(false);
});
