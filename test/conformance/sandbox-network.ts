/** Cases 55 and 56: what a sandbox without a network can reach: nothing. Case 57 stands in a file of its own. */
import { createSocket } from "node:dgram";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { ALLOWED_CASES } from "./sandbox-network-allowed.ts";
import { OPTIONS, output } from "./sandbox-parts.ts";

const SOCKETS = `
import socket
for name, family, kind, protocol in [("packet", 17, 3, 768), ("vsock", 40, 1, 0), ("alg", 38, 5, 0), ("netfilter", 16, 3, 12), ("raw", 2, 3, 1)]:
    try: socket.socket(family, kind, protocol); print(name, "opened")
    except OSError: pass
for address in ["127.0.0.1", "169.254.169.254", "10.0.0.1", "192.0.2.1"]:
    s = socket.socket(); s.settimeout(5)
    try: s.connect((address, 80)); print(address, "connected")
    except TimeoutError: print(address, "hung")
    except OSError: pass
try: socket.getaddrinfo("example.com", 80); print("resolved")
except OSError: pass
print([line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
`;

/** Tries each server of the host; prints those that were reached, or that did not fail at once. */
const HOST_SERVERS = `
import json, socket, sys
for family, kind, address in json.loads(sys.argv[1]):
    s = socket.socket(getattr(socket, family), getattr(socket, kind)); s.settimeout(5)
    target = tuple(address) if isinstance(address, list) else address.replace("@", chr(0))
    try:
        s.connect(target)
        if kind == "SOCK_DGRAM": s.send(b"reached"); s.recv(10)
        print(family, kind, address, "reached")
    except TimeoutError: print(family, kind, address, "hung")
    except OSError: pass
print("done")
`;

async function listening(server: Server, where: { readonly path: string } | { readonly port: number }): Promise<void> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(where, resolve));
}

/** The host itself reaches what the sandbox must not. */
async function reached(path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", reject);
  });
}

/** Servers of the host on every door a network namespace could leave open. */
async function withHostServers(use: (addresses: readonly (readonly unknown[])[]) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-network-"));
  const servers = [createServer(), createServer(), createServer()] as const;
  const udp = createSocket("udp4", (_, from) => udp.send("back", from.port, from.address));
  try {
    const abstract = `sandlot-${process.pid}-${performance.now()}`;
    await listening(servers[0], { port: 0 });
    await listening(servers[1], { path: join(folder, "host.sock") });
    await listening(servers[2], { path: `\0${abstract}` });
    await new Promise<void>((resolve) => udp.bind(0, resolve));
    for (const server of servers.slice(1)) await reached(server.address() as string);
    const { port } = servers[0].address() as AddressInfo;
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const addresses = ["127.0.0.1", ...own.flatMap(({ family, address }) => (family === "IPv4" ? [address] : []))];
    await use([
      ...addresses.map((address) => ["AF_INET", "SOCK_STREAM", [address, port]]),
      ...addresses.map((address) => ["AF_INET", "SOCK_DGRAM", [address, udp.address().port]]),
      ["AF_INET6", "SOCK_STREAM", ["::1", port]],
      ["AF_UNIX", "SOCK_STREAM", join(folder, "host.sock")],
      ["AF_UNIX", "SOCK_STREAM", `@${abstract}`],
      ["AF_INET", "SOCK_STREAM", ["169.254.169.254", 80]],
      ["AF_INET", "SOCK_DGRAM", ["192.0.2.53", 53]],
    ]);
  } finally {
    await new Promise<void>((resolve) => udp.close(resolve));
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    rmSync(folder, { recursive: true, force: true });
  }
}

export const NETWORK_CASES: readonly ConformanceCase[] = [
  {
    number: 55,
    title: "without a network nothing is reachable, and it fails at once",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(await output(sandbox, ["python3", "-c", SOCKETS])).toBe("['lo']\n");
      }),
  },
  {
    number: 55,
    part: "b",
    title: "servers of the host are out of reach: TCP, UDP, UNIX by path and by abstract name",
    run: (boxes) =>
      withHostServers(async (addresses) => {
        const command = ["python3", "-c", HOST_SERVERS, JSON.stringify(addresses)];
        /* With a network too, where there is one: the proxy is the only way out. */
        const offered = boxes.provider().capabilities.network;
        for (const network of ([{ mode: "off" }, { mode: "open" }] as const).filter(({ mode }) =>
          offered.includes(mode),
        ))
          await boxes.with(
            async (sandbox) => {
              for (const user of ["root", "agent"]) expect(await output(sandbox, command, { user })).toBe("done\n");
              expect(sandbox.networkLog().attempts).toEqual([]);
            },
            { network },
          );
      }),
  },
  {
    number: 56,
    title: "two sandboxes use one port, and neither sees the other",
    run: (boxes) =>
      boxes.with((one) =>
        boxes.with(async (two) => {
          const serve = [
            "import socket, os, time",
            "s = socket.socket(); s.bind(('127.0.0.1', 8080)); s.listen()",
          ].join("\n");
          for (const sandbox of [one, two])
            await output(sandbox, ["python3", "-c", `${serve}\nif os.fork() == 0: time.sleep(987)`]);
          const probe = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 8080)))";
          expect(await output(one, ["python3", "-c", probe])).toBe("0\n");
          await one.exec("kill -9 -1", OPTIONS);
          expect(await output(one, ["python3", "-c", probe])).not.toBe("0\n");
          expect(await output(two, ["python3", "-c", probe])).toBe("0\n");
        }),
      ),
  },
  ...ALLOWED_CASES,
];
