/** Cases 12, 46 to 56: the kernel's doors, the host's traces and the network, seen from inside. */
import { hostname } from "node:os";
import { expect } from "vitest";
import { placeProgram } from "../abuse/programs.ts";
import type { ConformanceCase } from "./case.ts";
import { MIB, OPTIONS, output, REQUEST, text } from "./sandbox-parts.ts";

/** What ordinary work is made of: each line must run under the strict profile and end with 0. */
const ORDINARY_WORK = [
  "python3 -c 'import threading, subprocess, sqlite3, tempfile, multiprocessing as m; subprocess.run([\"true\"]); m.Queue()'",
  "bash -c 'cat <(echo a) | sort | while read x; do echo $x; done; trap : TERM; kill -TERM $$'",
  "if command -v cc; then echo 'int main(void){return 0;}' > /tmp/m.c && cc -O2 -o /tmp/m /tmp/m.c && /tmp/m; fi",
  "if command -v git; then cd /tmp && git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m; fi",
  'if command -v node; then node -e \'require("fs").readdir("/", () => 0)\'; fi',
  "if command -v make; then printf 'a:\\n\\ttrue\\n' > /tmp/Makefile && make -sC /tmp; fi",
  "tar cf /tmp/t.tar /etc && gzip /tmp/t.tar && find / -xdev -name passwd | xargs ls -l && df / && dd if=/dev/zero of=/tmp/z count=9",
];

export const KERNEL_CASES: readonly ConformanceCase[] = [
  ...["root", "agent"].map(
    (user, index): ConformanceCase => ({
      number: 48,
      part: "ab".charAt(index),
      title: `namespaces, mounts, modules and their kin are refused to ${user}`,
      run: (boxes) =>
        boxes.with(async (sandbox) => {
          const program = await placeProgram(sandbox, "calls");
          if (program === null) return boxes.skip("This machine has no compiler for the abuse programs.");
          expect(await output(sandbox, [program], { user })).toBe("");
        }),
    }),
  ),
  {
    number: 12,
    title: "the agent can be neither seen, traced nor read",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = [
          "import ctypes, os",
          "libc = ctypes.CDLL(None, use_errno=True)",
          "print(libc.ptrace(16, 1, 0, 0), os.path.exists('/proc/1/status'))",
          "for name in ('environ', 'mem', 'maps', 'root', 'cwd', 'fd'):",
          "  try:",
          "    p = f'/proc/1/{name}'",
          "    os.listdir(p) if name in ('root', 'cwd', 'fd') else open(p, 'rb').read(1)",
          "    print(name, 'readable')",
          "  except OSError: pass",
        ].join("\n");
        for (const user of ["root", "agent"])
          expect(await output(sandbox, ["python3", "-c", script], { user })).toBe("-1 False\n");
      }),
  },
  {
    number: 12,
    part: "b",
    title: "nothing inside can limit, slow down or move the agent, not even root",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = [
          "import os, resource as r",
          "def attempt(name, act):",
          "  try: act(); print(name)",
          "  except OSError: pass",
          "for kind in (r.RLIMIT_NICE, r.RLIMIT_NOFILE, r.RLIMIT_CPU): attempt(f'limit {kind}', lambda: r.prlimit(1, kind, r.prlimit(os.getpid(), kind)))",
          "for which in (os.PRIO_PROCESS, os.PRIO_PGRP): attempt(f'priority {which}', lambda: os.setpriority(which, 1, 1))",
          "attempt('priority of the user', lambda: os.setpriority(os.PRIO_USER, 0, 1))",
          "attempt('policy', lambda: os.sched_setscheduler(1, os.SCHED_BATCH, os.sched_param(0)))",
          "attempt('parameters', lambda: os.sched_setparam(1, os.sched_param(0)))",
          "attempt('cores', lambda: os.sched_setaffinity(1, os.sched_getaffinity(0)))",
          /* Of itself a program may set all of them. */
          "r.prlimit(0, r.RLIMIT_NOFILE, (64, 64)); os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))",
        ].join("\n");
        /* Whoever runs the suite may be nice. */
        const before = await output(sandbox, "nice; ulimit -n");
        expect(before).toMatch(/^-?\d+\n4096\n$/);
        for (const user of ["root", "agent"])
          expect(await output(sandbox, ["python3", "-c", script], { user })).toBe("");
        expect(await output(sandbox, "nice; ulimit -n")).toBe(before);
      }),
  },
  {
    number: 46,
    title: "system folders and kernel settings cannot be written, nor mounted writable",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const targets = [
          "/usr/x",
          "/usr/bin/x",
          "/proc/sys/kernel/hostname",
          "/proc/sys/kernel/core_pattern",
          "/dev/x",
          "/proc/sysrq-trigger",
        ];
        for (const target of targets) {
          const result = await sandbox.exec(`echo x > ${target}`, OPTIONS);
          expect([target, result.exitCode === 0]).toEqual([target, false]);
        }
        expect((await sandbox.exec("mount -o remount,rw /usr", OPTIONS)).exitCode).not.toBe(0);
        const attributes = [
          "import os",
          "for path, name in (('/etc', 'user.overlay.opaque'), ('/etc/passwd', 'user.overlay.redirect'), ('/', 'trusted.overlay.opaque')):",
          "  try: os.setxattr(path, name, b'y')",
          "  except OSError: continue",
          "  if name.startswith('trusted') or not os.listdir('/etc') or 'root' not in open('/etc/passwd').read(): print(path, name)",
          "os.remove('/etc/hosts'); os.makedirs('/etc/new'); os.rename('/etc/new', '/etc/newer')",
        ].join("\n");
        expect(await output(sandbox, ["python3", "-c", attributes])).toBe("");
        const next = await boxes.create();
        expect(next.info.imageHash).toBe(sandbox.info.imageHash);
        expect(await output(next, "cat /etc/hosts; ls /etc")).toMatch(/localhost[\s\S]*hosts/);
        expect(await output(next, "ls /etc")).not.toContain("newer");
      }),
  },
  {
    number: 47,
    title: "a setuid program gives nobody more than they have",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(sandbox, "cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id");
        expect(await output(sandbox, "/tmp/id -u", { user: "agent" })).toBe("1000\n");
        const status = await output(sandbox, "grep -E 'CapEff|CapPrm|CapAmb|NoNewPrivs' /proc/self/status", {
          user: "agent",
        });
        expect(status).toMatch(/CapPrm:\s+0+\nCapEff:\s+0+\nCapAmb:\s+0+\nNoNewPrivs:\s+1/);
      }),
  },
  {
    number: 47,
    part: "b",
    title: "a setuid program or file capability made in one sandbox is nothing in another",
    run: (boxes) =>
      boxes.with(async (maker) => {
        const setcap =
          "import os; os.setxattr('/tmp/id', 'security.capability', bytes.fromhex('0100000200000020000000000000000000000000'))";
        await output(maker, "cp /usr/bin/id /tmp/id; chmod 6755 /tmp/id");
        expect((await maker.exec(["python3", "-c", setcap], OPTIONS)).exitCode).not.toBe(0);
        const made = await maker.files.read("/tmp/id", { bytesMax: MIB });
        if (!made.ok) throw new Error(made.error);
        await boxes.with(async (user) => {
          await user.files.write({ path: "/tmp/id", bytes: made.value, mode: 0o6755 });
          expect(await output(user, "/tmp/id -u; /tmp/id -g", { user: "agent" })).toBe("1000\n1000\n");
        });
      }),
  },
  {
    number: 48,
    part: "c",
    title: "root of the sandbox keeps only the eight capabilities",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(await output(sandbox, "grep -E 'CapEff|CapBnd' /proc/self/status")).toMatch(
          /CapEff:\s+0+4fb\nCapBnd:\s+0+4fb/,
        );
      }),
  },
  {
    number: 48,
    part: "d",
    title: "the strict profile refuses what is not ordinary, and ordinary work goes on",
    request: {
      seccomp: "strict",
      limits: { ...REQUEST.limits, memoryBytes: 512 * MIB, diskBytes: 64 * MIB, processesMax: 128 },
    },
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        for (const work of ORDINARY_WORK) {
          const result = await sandbox.exec(work, OPTIONS);
          expect(result.exitCode, `${work}: ${text(result.stderr)}`).toBe(0);
        }
        const unusual = "import ctypes; print(ctypes.CDLL(None, use_errno=True).personality(0), ctypes.get_errno())";
        expect(await output(sandbox, ["python3", "-c", unusual])).toMatch(/^-1 /);
        const program = await placeProgram(sandbox, "calls");
        if (program !== null) expect(await output(sandbox, [program])).toBe("");
      }),
  },
  {
    number: 49,
    title: "a program for 32 bits reaches no system call",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const program = await placeProgram(sandbox, "compat");
        /* Its 64-bit doors, int 0x80 and x32, are tried in case 48 as well, wherever a compiler is. */
        if (program === null) return boxes.skip("This machine's compiler makes no programs for 32 bits.");
        const result = await sandbox.exec([program], { ...OPTIONS, timeoutMs: 5_000 });
        expect(text(result.stdout)).toBe("");
        expect(result.exitCode).not.toBe(0);
      }),
  },
  {
    number: 50,
    title: "no terminal takes characters pushed from inside",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const program = await placeProgram(sandbox, "terminal");
        if (program === null) return boxes.skip("This machine has no compiler for the abuse programs.");
        expect(await output(sandbox, [program])).toBe("");
        expect(await output(sandbox, [program], { pty: { columns: 80, rows: 24 } })).toBe("");
      }),
  },
  {
    number: 51,
    title: "raw devices and kernel windows are absent or masked",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const nodes = "mem kmem port kmsg kvm fuse loop-control sda vda net/tun mapper";
        expect(await output(sandbox, `cd /dev; ls -d ${nodes} 2>/dev/null; true`)).toBe("");
        expect(
          await output(sandbox, "cat /proc/kcore /proc/keys /proc/timer_list /proc/kmsg 2>/dev/null | wc -c"),
        ).toBe("0\n");
        expect((await sandbox.exec("mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk", OPTIONS)).exitCode).not.toBe(0);
      }),
  },
  {
    number: 52,
    title: "there is no control group to write to",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(
          await output(sandbox, "find / -xdev -name 'cgroup.procs' 2>/dev/null; grep cgroup /proc/mounts; true"),
        ).toBe("");
      }),
  },
  {
    number: 52,
    part: "b",
    title: "no group can be made, left or told to release its end to a program",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const script = [
          "import os, ctypes",
          "libc = ctypes.CDLL(None, use_errno=True)",
          "for kind in (b'cgroup', b'cgroup2'):",
          "  if libc.mount(b'none', b'/mnt', kind, 0, b'') == 0: print('mounted', kind)",
          "for path in ('/sys/fs/cgroup', '/proc/self/cgroup', '/proc/1/cgroup'):",
          "  try: os.write(os.open(path, os.O_WRONLY), b'0'); print('wrote', path)",
          "  except OSError: pass",
          "print(open('/proc/self/cgroup').read())",
        ].join("\n");
        const said = await output(sandbox, ["python3", "-c", script]);
        expect(said).not.toMatch(/mounted|wrote/);
        expect(said).not.toContain("sandlot");
        expect((await sandbox.exec("find / -xdev -name release_agent | grep .", OPTIONS)).exitCode).not.toBe(0);
      }),
  },
  {
    number: 54,
    title: "nothing of the host shows: environment, processes, name, files, paths",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const names = (await output(sandbox, "env | cut -d= -f1 | sort")).trim().split("\n");
        expect(names).toEqual(["HOME", "LANG", "PATH", "PWD", "TZ"]);
        expect(await output(sandbox, "hostname")).toBe("sandbox\n");
        expect(hostname()).not.toBe("sandbox");
        expect(
          await output(
            sandbox,
            "ls -A /root /home/agent /app /tests /solution /logs /opt /srv /mnt /run /tmp | grep -v ':$' | grep .; true",
          ),
        ).toBe("");
        expect(await output(sandbox, "cat /proc/self/mountinfo")).not.toMatch(/\.cache|sandlot|\/home|\/tmp|\/run/);
        expect(await output(sandbox, "cat /proc/self/cgroup")).not.toContain("sandlot");
        expect((await output(sandbox, "ls /etc")).split("\n")).not.toContain("shadow");
        expect((await output(sandbox, "ls -d /proc/[0-9]* | wc -l")).trim()).toMatch(/^[1-4]$/);
      }),
  },
  {
    number: 74,
    title: "a command runs as the user it names, and the image knows four",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        for (const [user, shown] of [
          ["root", "0 root /root"],
          ["agent", "1000 agent /home/agent"],
          ["verifier", "1001 verifier /home/verifier"],
          ["subject", "1002 subject /home/subject"],
        ] as const)
          expect(await output(sandbox, "echo $(id -u) $(id -un) $HOME", { user })).toBe(`${shown}\n`);
        expect(text((await sandbox.exec("id -u", { ...OPTIONS, user: "4321" })).stdout)).toBe("4321\n");
        await expect(sandbox.exec("true", { ...OPTIONS, user: "nobody-known" })).rejects.toMatchObject({
          code: "request_invalid",
        });
      }),
  },
];
