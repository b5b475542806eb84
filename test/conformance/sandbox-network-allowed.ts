/**
 * Case 57: what a sandbox with a network reaches, and what it does not, whatever it writes to the proxy. The provider
 * under test must be made with `SMALL_INTERNET` as its proxy options.
 */
import { expect } from "vitest";
import type { NetworkPolicy, Sandbox } from "../../src/core/sandbox.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { OPTIONS, output } from "./sandbox-parts.ts";
import { ROUTE_SECRET, type SmallInternet, WEB, withSmallInternet } from "./small-internet.ts";

const LISTED: NetworkPolicy = { mode: "allow-list", hosts: ["web.example.org", "*.deep.example.org", WEB] };

/** `ask` sends bytes to the proxy and gives the status, or `cut`; `get` is an honest request; `hello` begins TLS. */
const CLIENT = `
import os, socket, ssl, sys
def ask(raw, then=None):
    try:
        s = socket.create_connection(("127.0.0.1", 3128), 20); s.sendall(raw.encode("latin1"))
        got = s.recv(65536)
        if then is not None and b" 200 " in got:
            s.sendall(then); got = s.recv(65536)
            return got.decode("latin1") or "cut"
        return got.decode("latin1").split(" ")[1] if got else "cut"
    except OSError: return "cut"
def get(url, host=None, headers=""):
    return ask(f"GET {url} HTTP/1.1\\r\\nHost: {host or url.split('/')[2]}\\r\\n{headers}\\r\\n")
def hello(name):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO(); tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return out.read()
def tunnel(host, then): return ask(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n", then)
`;

/** Holds a tunnel and says how it ends. */
const HELD_TUNNEL = `
import socket
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT web.example.org:443 HTTP/1.1\\r\\n\\r\\n")
print(s.recv(100)[:12].decode(), flush=True)
try: print(s.recv(100))
except OSError: print("reset")
`;

async function python(sandbox: Sandbox, ...lines: readonly string[]): Promise<string[]> {
  return (await output(sandbox, ["python3", "-c", [CLIENT, ...lines].join("\n")])).trim().split("\n");
}

/** A sandbox of this policy in a small internet. */
function inside(
  network: NetworkPolicy,
  use: (sandbox: Sandbox, internet: SmallInternet, context: CaseContext) => Promise<void>,
): (context: CaseContext) => Promise<void> {
  return (context) =>
    withSmallInternet((internet) => context.with((sandbox) => use(sandbox, internet, context), { network }));
}

/** Every one is refused with 403, and nothing was connected to. */
async function expectRefused(sandbox: Sandbox, internet: SmallInternet, urls: readonly string[]): Promise<void> {
  const shown = await python(sandbox, `for url in ${JSON.stringify(urls)}: print(get(url), url)`);
  expect(shown).toEqual(urls.map((url) => `403 ${url}`));
  expect(internet.dialled).toEqual([]);
}

const LOCAL_ADDRESSES: readonly string[] = [
  "127.0.0.1",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "168.63.129.16",
  "100.100.100.200",
  "0.0.0.0",
  "224.0.0.1",
  "255.255.255.255",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::7f00:1]",
  "[fe80::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "[2002:7f00:1::]",
];

/** Spellings by which some resolver reads 127.0.0.1 or the listed address. */
const SPELLINGS: readonly string[] = [
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "127.1",
  "127.0.1",
  "127.0.0.1.",
  "1572395042",
  "0x5db8d822",
  "0135.0270.0330.042",
  "93.184.55330",
  "093.184.216.34",
  "web.example.org.",
  "localhost",
];

const names: readonly ConformanceCase[] = [
  {
    number: 57,
    title: "a sandbox with an allow-list reaches what is listed, and nothing else",
    run: inside(LISTED, async (sandbox, internet) => {
      internet.names.set("a.b.deep.example.org", [WEB]);
      internet.names.set("deep.example.org", [WEB]);
      const shown = await python(
        sandbox,
        "import urllib.request",
        "print(urllib.request.urlopen('http://web.example.org/honest').read().decode())",
        `for host in ["a.b.deep.example.org", "${WEB}", "deep.example.org", "other.example.net", "web.example.org.evil.net"]:`,
        "    print(get(f'http://{host}/x'))",
      );
      expect(shown).toEqual(["web /honest", "200", "200", "403", "403", "403"]);
      expect(internet.requests).toEqual(["GET web.example.org/honest", "GET a.b.deep.example.org/x", `GET ${WEB}/x`]);
      const log = sandbox.networkLog();
      expect(log).toMatchObject({ allowed: 3, refused: 3, attemptsDropped: 0 });
      expect(log.attempts.slice(2, 4)).toMatchObject([
        { host: WEB, port: 80, address: WEB, decision: "allowed", reason: null },
        { host: "deep.example.org", port: 80, address: null, decision: "refused", reason: "not_listed" },
      ]);
    }),
  },
  {
    number: 57,
    part: "b",
    title: "a listed name that answers with an inner address is refused, also when only one of its answers is",
    run: inside(LISTED, async (sandbox, internet) => {
      let asked = 0;
      internet.names.set("web.example.org", () => {
        asked += 1;
        return [[WEB], ["127.0.0.1"], [WEB, "169.254.169.254"], ["::ffff:10.0.0.1"]][(asked - 1) % 4] ?? [];
      });
      const shown = await python(sandbox, "for _ in range(4): print(get('http://web.example.org/'))");
      expect(shown).toEqual(["200", "403", "403", "403"]);
      /* Asked once for each request: what was checked is what was connected to. */
      expect(asked).toBe(4);
      expect(internet.dialled).toEqual([`${WEB}:80`]);
      expect(sandbox.networkLog().attempts.at(-1)).toMatchObject({ decision: "refused", reason: "address_not_public" });
    }),
  },
  {
    number: 57,
    part: "c",
    title: "inner and metadata addresses are refused where everything public is allowed, and in every spelling",
    run: inside({ mode: "open" }, async (sandbox, internet) => {
      await expectRefused(
        sandbox,
        internet,
        [...LOCAL_ADDRESSES, ...SPELLINGS].map((host) => `http://${host}/`),
      );
      const shown = await python(
        sandbox,
        `print(get("http://${WEB}/"), get("http://other.example.net/"), get("http://web.example.org:8080/"))`,
        'print(tunnel("127.0.0.1", hello("web.example.org")), tunnel("[::1]", hello(None)))',
      );
      expect(shown).toEqual(["200 200 403", "403 403"]);
    }),
  },
  {
    number: 57,
    part: "d",
    title: "an address or a port that is not listed is refused under an allow-list",
    run: inside(
      { mode: "allow-list", hosts: ["web.example.org", "other.example.net:8443"] },
      async (sandbox, internet) => {
        const refused = [WEB, `${WEB}:443`, "web.example.org:22", "web.example.org:8443", "other.example.net"];
        await expectRefused(
          sandbox,
          internet,
          [...refused, ...SPELLINGS].map((host) => `http://${host}/`),
        );
        expect(await python(sandbox, 'print(get("http://other.example.net:8443/"))')).toEqual(["200"]);
      },
    ),
  },
];

const requests: readonly ConformanceCase[] = [
  {
    number: 57,
    part: "e",
    title: "a request that can be read in two ways is refused",
    run: inside(LISTED, async (sandbox, internet) => {
      const shown = await python(
        sandbox,
        'print(get("http://web.example.org/", "other.example.net"))',
        'print(get("http://web.example.org/", "web.example.org", "Host: other.example.net\\r\\n"))',
        'print(get("http://web.example.org@other.example.net/", "web.example.org"))',
        'print(get("http://other.example.net\\\\@web.example.org/", "web.example.org"))',
        'print(ask("GET / HTTP/1.1\\r\\nHost: web.example.org\\r\\n\\r\\n"))',
        'print(ask("GET http://web.example.org/ HTTP/1.1\\r\\n\\r\\n"))',
        'post = "POST http://web.example.org/ HTTP/1.1\\r\\nHost: web.example.org\\r\\n"',
        'for two in ["Content-Length: 5\\r\\nTransfer-Encoding: chunked", "Content-Length: 5\\r\\nContent-Length: 6",',
        '            "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity", "Transfer-Encoding: xchunked",',
        '            "Transfer-Encoding : chunked", "Content-Length: +5"]: print(ask(post + two + "\\r\\n\\r\\n0\\r\\n\\r\\n"))',
        'print(get("http://web.example.org/", None, "Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n"))',
      );
      expect(shown.slice(0, 6)).toEqual(["403", "403", "400", "400", "400", "403"]);
      expect(shown.slice(6, 12)).toEqual(["400", "400", "400", "400", "400", "400"]);
      expect(shown.at(12)).toBe("403");
      expect(internet.requests).toEqual([]);
    }),
  },
  {
    number: 57,
    part: "f",
    title: "a tunnel passes only TLS that names the tunnel's own host",
    run: inside(LISTED, async (sandbox, internet) => {
      const shown = await python(
        sandbox,
        'print(tunnel("web.example.org", hello("web.example.org")))',
        'print(tunnel("web.example.org", hello("other.example.net")))',
        'print(tunnel("web.example.org", hello(None)))',
        'print(tunnel("web.example.org", b"GET / HTTP/1.1\\r\\nHost: web.example.org\\r\\n\\r\\n"))',
        'print(tunnel("other.example.net", hello("other.example.net")))',
        'print(ask("CONNECT web.example.org:22 HTTP/1.1\\r\\n\\r\\n"), ask("CONNECT web.example.org HTTP/1.1\\r\\n\\r\\n"))',
        'print(ask("CONNECT web.example.org:443 HTTP/1.1\\r\\nHost: other.example.net:443\\r\\n\\r\\n"))',
      );
      expect(shown).toEqual(["tunnelled", "cut", "cut", "cut", "403", "403 400", "403"]);
      expect(internet.requests).toEqual(["tunnel 22"]);
      expect(sandbox.networkLog().attempts.slice(0, 4)).toMatchObject([
        { decision: "allowed", reason: null },
        { decision: "refused", reason: "server_name_mismatch" },
        { decision: "refused", reason: "server_name_mismatch" },
        { decision: "refused", reason: "not_tls" },
      ]);
    }),
  },
  {
    number: 57,
    part: "g",
    title: "a redirect is a new request, decided like any",
    run: inside(LISTED, async (sandbox, internet) => {
      const shown = await python(
        sandbox,
        "import urllib.error, urllib.request",
        "for to in ['http://web.example.org/home', 'http://other.example.net/', 'http://169.254.169.254/latest/']:",
        "    try: print(urllib.request.urlopen('http://web.example.org/to?' + to).read().decode())",
        "    except urllib.error.HTTPError as error: print(error.code)",
      );
      expect(shown).toEqual(["web /home", "403", "403"]);
      expect(new Set(internet.dialled)).toEqual(new Set([`${WEB}:80`]));
    }),
  },
];

const phases: readonly ConformanceCase[] = [
  {
    number: 57,
    part: "h",
    title: "a route's credential is added on the way out and can be read nowhere inside",
    run: inside({ mode: "allow-list", hosts: ["model.sandlot.invalid"] }, async (sandbox, internet) => {
      const shown = await python(
        sandbox,
        "import urllib.request",
        "print(urllib.request.urlopen('http://model.sandlot.invalid/chat').read().decode())",
        "print(get('http://model.sandlot.invalid/chat', None, 'Authorization: Bearer mine\\r\\nConnection: authorization\\r\\n'))",
        "print(get('http://model.sandlot.invalid/../admin'), get('http://model.sandlot.invalid/%2e%2e/admin'))",
        "print(ask('TRACE http://model.sandlot.invalid/ HTTP/1.1\\r\\nHost: model.sandlot.invalid\\r\\n\\r\\n'))",
        "print(tunnel('model.sandlot.invalid', hello('model.sandlot.invalid')))",
      );
      expect(shown).toEqual(["model /base/chat", "200", "400 400", "400", "403"]);
      expect(internet.routed.map(({ authorization }) => authorization)).toEqual(
        Array.from({ length: 2 }, () => `Bearer ${ROUTE_SECRET}`),
      );
      const seen = await output(
        sandbox,
        `cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '^.*route-[s]ecret' || true`,
      );
      expect(seen.trim()).toBe("0");
      expect(JSON.stringify([sandbox.info, sandbox.networkLog()])).not.toContain(ROUTE_SECRET);
    }),
  },
  {
    number: 57,
    part: "i",
    title: "a route is closed to a sandbox whose policy does not list it, also where everything public is open",
    run: inside({ mode: "open" }, async (sandbox, internet) => {
      expect(await python(sandbox, "print(get('http://model.sandlot.invalid/chat'))")).toEqual(["403"]);
      expect(internet.routed).toEqual([]);
    }),
  },
  {
    number: 57,
    part: "j",
    title: "the network narrows from phase to phase, closes what is open, and never widens beyond the request",
    run: inside(LISTED, async (sandbox, _internet, context) => {
      let isOpen = false;
      const held = sandbox.exec(["python3", "-c", HELD_TUNNEL], { ...OPTIONS, onOutput: () => (isOpen = true) });
      await context.until("the tunnel is open", () => isOpen);
      await sandbox.setNetwork({ mode: "allow-list", hosts: ["x.deep.example.org"] });
      expect(Buffer.from((await held).stdout).toString()).toMatch(/^HTTP\/1.1 200\n(b''|reset)\n$/);
      expect(await python(sandbox, "print(get('http://web.example.org/'))")).toEqual(["403"]);
      for (const wider of [
        { mode: "open" },
        { mode: "allow-list", hosts: ["web.example.org", "example.net"] },
      ] as const)
        await expect(sandbox.setNetwork(wider)).rejects.toMatchObject({ code: "request_invalid" });
      await sandbox.setNetwork({ mode: "off" });
      const off = "print(get('http://web.example.org/'), 'http_proxy' in os.environ)";
      expect(await python(sandbox, off)).toEqual(["cut False"]);
      await sandbox.setNetwork(LISTED);
      expect(await python(sandbox, "print(get('http://web.example.org/'), os.environ['HTTPS_PROXY'])")).toEqual([
        "200 http://127.0.0.1:3128",
      ]);
    }),
  },
];

export const ALLOWED_CASES: readonly ConformanceCase[] = [...names, ...requests, ...phases];
