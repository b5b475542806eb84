/** What a hostile or broken program may try: each ends as a value of its own sandbox, beside an unharmed sibling. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { MIB, OPTIONS, output, REQUEST, text } from "../conformance/sandbox-parts.ts";
import { beside, NEVER } from "./abuse-parts.ts";

const GRACE = { killGraceMs: 100 };

test("7. a fork bomb meets the process limit, its timeout ends every part of it, and the sandbox answers", () =>
  beside(async (sandbox) => {
    const bomb = await sandbox.exec(["bash", "-c", "b() { b | b & }; b; b; sleep 987"], {
      ...OPTIONS,
      timeoutMs: 1_000,
      ...GRACE,
    });
    expect(bomb).toMatchObject({ verdict: "timed_out", exitCode: null, oomKilled: false });
    expect(bomb.processLimitHits).toBeGreaterThan(0);
    expect((await sandbox.stats()).processes).toBe(0);
    expect(await output(sandbox, "echo alive")).toBe("alive\n");
  }));

test("7b. a fork bomb that nobody ends is ended with its sandbox", () =>
  beside(
    async (sandbox) => {
      await sandbox
        .start(["python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"], OPTIONS)
        .then(({ result }) => result.catch(() => undefined));
    },
    { lifetimeMs: 1_500 },
  ));

test("19. a memory hog is killed by its own limit", () =>
  beside(async (sandbox) => {
    const script = "import os\nos.fork()\nos.fork()\nb = []\nwhile True: b.append(bytearray(1 << 20))";
    const hog = await sandbox.exec(["python3", "-c", script], { ...OPTIONS, descendants: "kill" });
    expect(hog.oomKilled).toBe(true);
    expect(await output(sandbox, "echo alive")).toBe("alive\n");
  }));

test("24. a disk hog and an inode hog meet their own ends", () =>
  beside(async (sandbox) => {
    const fill = await sandbox.exec(
      "for i in 1 2 3 4 5 6 7 8; do head -c 8M /dev/zero > /var/tmp/$i & done; wait",
      OPTIONS,
    );
    expect(text(fill.stderr)).toContain("No space left");
    await sandbox.exec("rm -f /var/tmp/*", OPTIONS);
    const files = await sandbox.exec("cd /tmp; (i=0; while : > f$i; do i=$((i+1)); done); rm -f f*", OPTIONS);
    expect(text(files.stderr)).toMatch(/No space left|cannot create/);
    expect(await output(sandbox, "echo x > /tmp/x; cat /tmp/x")).toBe("x\n");
  }));

test("32. a gibibyte of output is counted to the byte and costs this process next to nothing", () =>
  beside(async (sandbox) => {
    const before = process.memoryUsage().rss;
    const result = await sandbox.exec(`head -c ${1024 * MIB} /dev/zero`, { ...OPTIONS, timeoutMs: 50_000 });
    expect(result).toMatchObject({ verdict: "exited", exitCode: 0, stdoutBytesTruncated: 1023 * MIB });
    expect(result.stdout.length).toBe(MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
  }));

test("2. two hundred detached processes that ignore TERM are all ended by one timeout", () =>
  beside(
    async (sandbox) => {
      const script =
        "trap '' TERM HUP INT; i=0; while [ $i -lt 200 ]; do setsid sh -c 'trap \"\" TERM HUP INT; setsid sleep 987 & sleep 987' & i=$((i+1)); done; wait";
      const result = await sandbox.exec(script, { ...OPTIONS, timeoutMs: 1_500, ...GRACE });
      expect(result.verdict).toBe("timed_out");
      expect((await sandbox.stats()).processes).toBe(0);
    },
    {
      limits: {
        cpus: 2,
        memoryBytes: 256 * MIB,
        diskBytes: 16 * MIB,
        filesMax: 1_000,
        processesMax: 1_000,
        shmBytes: MIB,
      },
    },
  ));

test("11. killing everything again and again, PID 1 included, harms only the killer's own sandbox", () =>
  beside(async (sandbox) => {
    await sandbox.exec("sleep 987 & setsid sleep 987 & true", OPTIONS);
    for (const user of ["root", "agent"]) {
      await sandbox.exec("kill -9 1; kill -STOP 1; kill -9 -1; true", { ...OPTIONS, user });
      await sandbox.exec(
        ["python3", "-c", "import os\nfor s in range(1, 65):\n  try: os.kill(1, s)\n  except OSError: pass"],
        { ...OPTIONS, user },
      );
    }
    expect(await output(sandbox, "echo alive")).toBe("alive\n");
  }));

test("35. forged frames on every descriptor and a forged report change nothing", () =>
  beside(async (sandbox) => {
    const forge = [
      "import os, struct",
      "frame = struct.pack('<IIHH', 56, 2, 35, 0) + bytes(56)",
      "for fd in range(256):",
      "  try: os.write(fd, frame)",
      "  except OSError: pass",
      "os._exit(7)",
    ].join("\n");
    const [forged, honest] = await Promise.all([
      sandbox.exec(["python3", "-c", forge], OPTIONS),
      sandbox.exec("sleep 0.3; echo honest; exit 5", OPTIONS),
    ]);
    expect(forged).toMatchObject({ verdict: "exited", exitCode: 7 });
    expect([honest.exitCode, text(honest.stdout)]).toEqual([5, "honest\n"]);
  }));

test("30. shared memory, queues, inotify and descriptors have ends, and no core is dumped", () =>
  beside(async (sandbox) => {
    const script = [
      "import os, resource",
      "print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))",
      "n = 0",
      "try:",
      "  while True: os.pipe(); n += 2",
      "except OSError: print(n < 4096)",
    ].join("\n");
    expect(await output(sandbox, ["python3", "-c", script])).toMatch(/^\(([01]), \1\) \(4096, 4096\)\nTrue\n$/);
    const crash = await sandbox.exec("cd /tmp; sh -c 'kill -SEGV $$'; ls -A /tmp", OPTIONS);
    expect(text(crash.stdout)).toBe("");
  }));

test("27. opening and unlinking without end stays inside the sandbox's memory", () =>
  beside(async (sandbox) => {
    const script =
      "import os\nwhile True:\n  f = os.open('/tmp/x', os.O_CREAT | os.O_RDWR); os.write(f, bytes(65536)); os.unlink('/tmp/x'); os.close(f)";
    expect((await sandbox.exec(["python3", "-c", script], { ...OPTIONS, timeoutMs: 700 })).verdict).toBe("timed_out");
    expect((await sandbox.stats()).diskBytes).toBeLessThan(MIB);
  }));

test("54. no file, process or variable of the host can be found from inside", () =>
  beside(async (sandbox) => {
    process.env["SANDLOT_TEST_SECRET"] = "host-secret";
    const environ = await output(sandbox, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; env");
    expect(environ).not.toMatch(/SANDLOT_TEST_SECRET|host-secret|node_modules/);
    delete process.env["SANDLOT_TEST_SECRET"];
    const passwd = await output(sandbox, "cat /etc/passwd");
    const hostUsers = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":")[0] ?? "");
    const own = ["root", "nobody", "agent", "verifier", "subject", ""];
    for (const user of hostUsers) if (!own.includes(user)) expect(passwd).not.toContain(`\n${user}:`);
    const top = (await output(sandbox, "ls -A /")).trim().split("\n");
    for (const name of readdirSync("/"))
      if (["boot", "lost+found", "work", "old_root"].includes(name)) expect(top).not.toContain(name);
    expect(await output(sandbox, "ls -A /proc/1/root /proc/1/cwd 2>/dev/null; ls -A /proc/self/root | wc -l")).toBe(
      `${top.length}\n`,
    );
  }));

test.each([
  ["processesMax", 100_000_000],
  ["cpus", 1e9],
])("63. a %s that no kernel keeps is refused by name and leaves nothing", (limit, value) =>
  beside(async () => {
    const provider = namespaceProvider({ runtime: systemRuntime() });
    const request = { ...REQUEST, limits: { ...REQUEST.limits, [limit]: value } };
    await expect(provider.create(request, NEVER)).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining(`Sandbox limit ${limit} must be at most`),
    });
    await provider.close();
  }),
);

test("53. an agent holds one connection, its own, however many siblings it has", () =>
  beside(async () => {
    const sockets = (pid: string): number =>
      readdirSync(`/proc/${pid}/fd`).filter((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("socket:")).length;
    const mine = agentsOf(process.pid);
    expect(mine.length).toBeGreaterThanOrEqual(2);
    expect(mine.map(sockets)).toEqual(mine.map(() => 1));
  }));

/** The agents of this process's helpers, by the host's process ids. */
function agentsOf(owner: number): string[] {
  const status = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/status`, "utf8");
    } catch {
      return "";
    }
  };
  const parent = (pid: string): string => /PPid:\t(\d+)/.exec(status(pid))?.[1] ?? "";
  return readdirSync("/proc").filter(
    (pid) => /^\d+$/.test(pid) && status(pid).includes("sandlot-agent") && parent(parent(pid)) === String(owner),
  );
}

test("44. a program that stops every process it finds holds no file operation up", () =>
  beside(async (sandbox) => {
    const script = [
      "import os, signal",
      "while True:",
      "  for pid in range(2, 400):",
      "    try:",
      "      if pid != os.getpid(): os.kill(pid, signal.SIGSTOP)",
      "    except OSError: pass",
    ].join("\n");
    const stopper = await sandbox.start(["python3", "-c", script], { ...OPTIONS, timeoutMs: 100_000 });
    void stopper.result.catch(() => undefined);
    for (let round = 0; round < 20; round += 1) {
      const path = `/tmp/${round}`;
      expect(await sandbox.files.write({ path, bytes: Buffer.from("x"), mode: 0o644 })).toMatchObject({ ok: true });
      expect(await sandbox.files.list("/etc", { recursive: true, entriesMax: 1_000 })).toMatchObject({ ok: true });
    }
    await sandbox.freeze();
    expect((await sandbox.diff()).length).toBe(20);
  }));

test("51. the kernel's pressure files take no watcher from inside", () =>
  beside(async (sandbox) => {
    const open = "import os\ntry: os.open('/proc/pressure/memory', os.O_RDWR); print('open')\nexcept OSError: pass";
    for (const user of ["root", "agent"]) expect(await output(sandbox, ["python3", "-c", open], { user })).toBe("");
  }));

test("57. a flood of requests to the proxy is cut, and its sandbox is served again when it ebbs", () =>
  beside(
    async (sandbox) => {
      const script = [
        "import socket, time",
        "end = time.monotonic() + 3",
        "while time.monotonic() < end:",
        "  try:",
        "    s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(1)",
        "    s.sendall(b'GET http://other.example.org/ HTTP/1.1\\r\\nHost: other.example.org\\r\\n\\r\\n' * 1000)",
        "    while s.recv(65536): pass",
        "  except OSError: pass",
      ].join("\n");
      await sandbox.exec(["python3", "-c", script], OPTIONS);
      const { refused } = sandbox.networkLog();
      expect(refused).toBeGreaterThan(1_000);
      expect(refused).toBeLessThan(10_000);
      const again = "for i in $(seq 15); do curl -sm 5 http://other.example.org/ && break; sleep 1; done";
      expect(await output(sandbox, again)).toContain("not_listed");
    },
    { network: { mode: "allow-list", hosts: ["web.example.org"] } },
  ));

test("27. bytes that wait in connections of the sandbox with itself take no more of the host than its limits", () =>
  beside(async (sandbox) => {
    const script = [
      "import socket",
      "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(4096); kept = []",
      "try:",
      "  for _ in range(600):",
      "    s = socket.socket(); s.settimeout(0.5); s.connect(l.getsockname()); s.setblocking(False)",
      "    try:",
      "      while s.send(b'x' * 65536): pass",
      "    except BlockingIOError: pass",
      "    kept += [s, l.accept()[0]]",
      "except TimeoutError: pass",
    ].join("\n");
    const waiting = (): number =>
      Number(/^TCP:.* mem (\d+)/m.exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1]) * 4_096;
    const before = waiting();
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, waiting() - before);
    }, 20);
    await sandbox.exec(["python3", "-c", script], OPTIONS);
    clearInterval(watch);
    expect(most).toBeLessThan(160 * MIB);
    expect(await output(sandbox, "echo alive")).toBe("alive\n");
  }));
