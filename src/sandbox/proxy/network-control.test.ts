/** The network of a real sandbox under load, bad luck and its limits; what it lets through is the conformance suite's. */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { REQUEST, text } from "../../../test/conformance/sandbox-parts.ts";
import type { NetworkPolicy, Sandbox, SandboxProvider } from "../../core/sandbox.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { namespaceProvider } from "../provider-namespace.ts";
import type { ProxyOptions } from "./proxy.ts";

const MIB = 1 << 20;
const BLOCK = Buffer.alloc(MIB, "sandlot");
const LISTED: NetworkPolicy = { mode: "allow-list", hosts: ["web.example.org"] };

let server: Server;
const sockets = new Set<Socket>();
const sandboxes: Sandbox[] = [];
const providers: SandboxProvider[] = [];
let arrived = 0;

/** `/big?N`: N MiB. `/hash`: the body's SHA-256. `/never`: a head and no end. `/silent`: nothing. */
beforeAll(async () => {
  server = createServer(async (request, response) => {
    arrived += 1;
    const [path, argument] = (request.url ?? "").split("?");
    if (path === "/silent") return;
    if (path === "/never") {
      response.writeHead(200);
      response.write("begun");
    } else if (path === "/big") {
      for (let left = Number(argument); left > 0 && !response.destroyed; left -= 1)
        if (!response.write(BLOCK))
          await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
      response.end();
    } else {
      const hash = createHash("sha256");
      for await (const chunk of request) hash.update(chunk);
      response.end(path === "/hash" ? hash.digest("hex") : request.url);
    }
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  arrived = 0;
});
afterEach(async () => {
  await Promise.all(sandboxes.splice(0).map((sandbox) => sandbox.destroy()));
  await Promise.all(providers.splice(0).map((provider) => provider.close()));
  await until("no connection is left", () => sockets.size === 0);
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

async function until(what: string, isThere: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!isThere()) {
    if (performance.now() > end) throw new Error(`Waited in vain: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function sandboxWith(network: NetworkPolicy = LISTED, proxy: ProxyOptions = {}): Promise<Sandbox> {
  const { port } = server.address() as AddressInfo;
  const provider = namespaceProvider({
    runtime: systemRuntime(),
    proxy: {
      resolve: async () => ["93.184.216.34"],
      connect: () => connect({ host: "127.0.0.1", port, allowHalfOpen: true }),
      ...proxy,
    },
  });
  providers.push(provider);
  const sandbox = await provider.create({ ...REQUEST, network }, new AbortController().signal);
  sandboxes.push(sandbox);
  return sandbox;
}

const PRELUDE = `
import hashlib, os, socket, sys, threading, time, urllib.request
def opened(): return socket.create_connection(("127.0.0.1", 3128), 30)
def head(path, more=""): return f"GET http://web.example.org{path} HTTP/1.1\\r\\nHost: web.example.org\\r\\n{more}\\r\\n".encode()
def get(path, data=None): return urllib.request.urlopen("http://web.example.org" + path, data).read()
`;

async function python(sandbox: Sandbox, script: string, onOutput = (): void => undefined): Promise<string> {
  const options = { timeoutMs: 60_000, outputBytesMax: MIB, onOutput };
  const result = await sandbox.exec(["python3", "-c", PRELUDE + script], options);
  if (result.exitCode !== 0) throw new Error(`${result.verdict}: ${text(result.stderr)}`);
  return text(result.stdout).trim();
}

test("bytes arrive whole and in order, both ways, and are counted", async () => {
  const sandbox = await sandboxWith();
  const shown = await python(
    sandbox,
    `data = os.urandom(${8 * MIB})
print(get("/hash", data).decode() == hashlib.sha256(data).hexdigest())
print(hashlib.sha256(get("/big?8")).hexdigest())`,
  );
  const sent = createHash("sha256");
  for (let left = 8; left > 0; left -= 1) sent.update(BLOCK);
  expect(shown).toBe(`True\n${sent.digest("hex")}`);
  const log = sandbox.networkLog();
  const [up, down] = log.attempts;
  expect(up?.bytesOut).toBeGreaterThan(8 * MIB);
  expect(down?.bytesIn).toBeGreaterThan(8 * MIB);
  expect(log.bytesIn).toBe((up?.bytesIn ?? 0) + (down?.bytesIn ?? 0));
});

test("connections that are not read hold up neither another one nor a command", async () => {
  const sandbox = await sandboxWith();
  const shown = await python(
    sandbox,
    `stalled = [opened() for _ in range(100)]
for s in stalled: s.sendall(head("/big?4"))
time.sleep(0.3)
print(len(get("/big?4")), get("/after").decode())
got = 0
while got < ${4 * MIB}: got += len(stalled[50].recv(65536))
print("late", got >= ${4 * MIB})`,
  );
  expect(shown).toBe(`${4 * MIB} /after\nlate True`);
});

test("more connections than are served at once wait their turn", async () => {
  const sandbox = await sandboxWith();
  const shown = await python(
    sandbox,
    `sockets = [opened() for _ in range(300)]
for s in sockets: s.sendall(head("/x", "Connection: close\\r\\n"))
print(sum(s.recv(20).startswith(b"HTTP/1.1 200") for s in sockets if s.settimeout(30) is None))`,
  );
  expect(shown).toBe("300");
  expect(arrived).toBe(300);
});

test("a client that goes away takes its request along", async () => {
  const sandbox = await sandboxWith();
  await python(sandbox, 's = opened(); s.sendall(head("/never")); s.recv(10)');
  await until("the answer was given up", () => sockets.size === 0);
  let isSent = false;
  const onOutput = (): void => {
    isSent = true;
  };
  const waiting = python(
    sandbox,
    's = opened(); s.sendall(head("/silent")); print(1, flush=True); s.recv(10)',
    onOutput,
  );
  waiting.catch(() => undefined);
  await until("the request arrived", () => isSent && sockets.size === 1);
  await sandbox.exec("kill -9 -1", { timeoutMs: 10_000, outputBytesMax: 100 });
  await until("the request was given up", () => sockets.size === 0);
});

test("a command cut off amid an answer sees a reset, never a short answer that looks whole", async () => {
  const sandbox = await sandboxWith();
  let hasBegun = false;
  const running = python(
    sandbox,
    `s = opened(); s.sendall(head("/never")); s.recv(10); print("begun", flush=True)
try:
    while s.recv(4096): pass
    print("end")
except ConnectionResetError: print("reset")`,
    () => {
      hasBegun = true;
    },
  );
  await until("the answer has begun", () => hasBegun);
  await sandbox.setNetwork({ mode: "allow-list", hosts: [] });
  expect(await running).toMatch(/reset$/);
});

test("requests sent one behind the other are answered in order", async () => {
  const sandbox = await sandboxWith();
  const shown = await python(
    sandbox,
    `s = opened(); s.sendall(head("/1") + head("/2") + head("/3", "Connection: close\\r\\n"))
got = b""
while piece := s.recv(4096): got += piece
print([int(part[0:1]) for part in got.split(b"\\r\\n\\r\\n/")[1:]])`,
  );
  expect(shown).toBe("[1, 2, 3]");
});

test("the proxy is found by IPv6 too, and a host that does not answer is told from one that is refused", async () => {
  const sandbox = await sandboxWith(LISTED, {
    connect: () => connect({ host: "127.0.0.1", port: 1 }),
  });
  const shown = await python(
    sandbox,
    `for host in ["127.0.0.1", "::1"]:
    s = socket.create_connection((host, 3128), 30); s.sendall(head("/x")); print(s.recv(12).decode())`,
  );
  expect(shown).toBe("HTTP/1.1 502\nHTTP/1.1 502");
  expect(sandbox.networkLog().attempts[1]).toMatchObject({ decision: "allowed", reason: "unreachable", address: null });
});

test("a name hidden in TLS is refused under an allow-list, and passes where every host is allowed", async () => {
  const { port } = server.address() as AddressInfo;
  for (const [network, shown] of [
    [LISTED, "cut"],
    [{ mode: "open" }, "HTTP/1.1 400"],
  ] as const) {
    const sandbox = await sandboxWith(network, { connect: () => connect({ host: "127.0.0.1", port }) });
    const script = `
def block(size, content): return len(content).to_bytes(size, "big") + content
name = block(2, block(2, b"\\0" + block(2, b"web.example.org")))
more = block(2, b"\\0\\0" + name + b"\\xfe\\x0d" + block(2, bytes(20)))
body = b"\\x03\\x03" + bytes(32) + block(1, b"") + block(2, b"\\x13\\x01") + block(1, b"\\0") + more
hello = b"\\x16\\x03\\x01" + block(2, b"\\x01" + block(3, body))
s = opened(); s.sendall(b"CONNECT web.example.org:443 HTTP/1.1\\r\\n\\r\\n"); assert b" 200 " in s.recv(100)
try: s.sendall(hello); print(s.recv(12).decode() or "cut")
except OSError: print("cut")`;
    expect(await python(sandbox, script)).toBe(shown);
  }
});

test("an answer's beginning arrives before its end exists", async () => {
  const sandbox = await sandboxWith();
  expect(await python(sandbox, 'print(urllib.request.urlopen("http://web.example.org/never").read(5).decode())')).toBe(
    "begun",
  );
});

test("a destroyed or frozen sandbox leaves no connection on the host", async () => {
  for (const end of ["destroy", "freeze"] as const) {
    const sandbox = await sandboxWith();
    const running = sandbox.exec(
      ["python3", "-c", `${PRELUDE}s = opened(); s.sendall(head("/never")); time.sleep(60)`],
      {
        timeoutMs: 60_000,
        outputBytesMax: 100,
      },
    );
    running.catch(() => undefined);
    await until("the request arrived", () => sockets.size === 1);
    await sandbox[end]();
    await until(`its connection ended (${end})`, () => sockets.size === 0);
    expect(sandbox.networkLog().attempts).toMatchObject([{ decision: "allowed", host: "web.example.org" }]);
  }
});

test("a command that holds the proxy's port keeps only itself from the network", async () => {
  const sandbox = await sandboxWith({ mode: "open" });
  await sandbox.setNetwork({ mode: "off" });
  await python(
    sandbox,
    `s = socket.socket(); s.bind(("127.0.0.1", 3128)); s.listen()
if os.fork() == 0: time.sleep(50)`,
  );
  await expect(sandbox.setNetwork(LISTED)).rejects.toMatchObject({
    code: "sandbox_unavailable",
    message: expect.stringContaining("3128"),
  });
  await sandbox.exec("kill -9 -1", { timeoutMs: 5_000, outputBytesMax: 100 });
  // A killed process gives up its port when it has ended, a moment after the signal.
  await vi.waitFor(() => sandbox.setNetwork(LISTED), 10_000);
  expect(await python(sandbox, 'print(get("/again").decode())')).toBe("/again");
});

test("a sandbox that has used up its bytes is cut off, and the record says so", async () => {
  const sandbox = await sandboxWith(LISTED, { caps: { bytesMax: 3 * MIB } });
  const shown = await python(
    sandbox,
    `import http.client
try: get("/big?8")
except (http.client.IncompleteRead, OSError): print("cut")
try: get("/x")
except urllib.error.HTTPError as error: print(error.code)`,
  );
  expect(shown).toBe("cut\n429");
  expect(sandbox.networkLog().attempts).toMatchObject([
    { decision: "allowed", reason: "limit" },
    { decision: "refused", reason: "limit" },
  ]);
});

test("a silent connection is closed after its time, and a sandbox's time ends its network", async () => {
  const idle = await sandboxWith(LISTED, { caps: { idleMs: 100 } });
  expect(
    await python(
      idle,
      's = opened(); s.sendall(head("/never")[:-2])\ntry: print(s.recv(10))\nexcept OSError: print("reset")',
    ),
  ).toMatch(/^(b''|reset)$/);
  const late = await sandboxWith(LISTED, { caps: { timeMsMax: 1 } });
  expect(await python(late, 's = opened(); s.sendall(head("/x")); print(s.recv(12).decode())')).toBe("HTTP/1.1 429");
});

test("a flood of attempts is counted, and its first and last ones are kept", async () => {
  const sandbox = await sandboxWith();
  await python(
    sandbox,
    `s = opened(); reader = s.makefile("rb")
for at in range(1100):
    s.sendall(f"GET http://h{at}.example.net/ HTTP/1.1\\r\\nHost: h{at}.example.net\\r\\n\\r\\n".encode())
    length = 0
    while (line := reader.readline()) != b"\\r\\n":
        if not line: raise SystemExit("closed")
        if line.lower().startswith(b"content-length"): length = int(line.split(b":")[1])
    reader.read(length)`,
  );
  const { attempts, attemptsDropped, refused } = sandbox.networkLog();
  expect([attempts.length, attemptsDropped, refused]).toEqual([1_024, 76, 1_100]);
  expect([attempts[0]?.host, attempts[512]?.host, attempts.at(-1)?.host]).toEqual([
    "h0.example.net",
    "h588.example.net",
    "h1099.example.net",
  ]);
});

test("a policy or route that cannot be kept is refused before anything is made", async () => {
  await expect(sandboxWith({ mode: "allow-list", hosts: ["10.0.0.1"] })).rejects.toMatchObject({
    code: "request_invalid",
  });
  const shadowing = { host: "example.org", target: new URL("http://127.0.0.1:1"), headers: {} };
  expect(() => namespaceProvider({ runtime: systemRuntime(), proxy: { routes: [shadowing] } })).toThrow(
    expect.objectContaining({ code: "request_invalid", message: expect.stringContaining("example.org") }),
  );
});
