/** Cases 55 to 57: what a sandbox can reach, and what it cannot. */
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
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
import os
print(sorted(os.listdir("/sys")), [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
`;

export const NETWORK_CASES: readonly ConformanceCase[] = [
  {
    number: 55,
    title: "without a network nothing is reachable, and it fails at once",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(await output(sandbox, ["python3", "-c", SOCKETS])).toBe("[] ['lo']\n");
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
];
