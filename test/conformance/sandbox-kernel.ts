/** Cases 12, 46 to 56: the kernel's doors, the host's traces and the network, seen from inside. */
import { hostname } from "node:os";
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { OPTIONS, output, text } from "./sandbox-parts.ts";

/** Calls each system call by number with harmless arguments and prints the ones the kernel did not refuse outright. */
const CALLS = `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = {"unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_by_handle_at": 304,
  "name_to_handle_at": 303, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "keyctl": 250,
  "add_key": 248, "request_key": 249, "kexec_load": 246, "init_module": 175, "finit_module": 313, "delete_module": 176,
  "swapon": 167, "swapoff": 168, "reboot": 169, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432,
  "mount_setattr": 442, "process_vm_readv": 310, "settimeofday": 164, "syslog": 103, "acct": 163, "quotactl": 179}
arm = {"unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "open_by_handle_at": 265,
  "name_to_handle_at": 264, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "keyctl": 219,
  "add_key": 217, "request_key": 218, "kexec_load": 104, "init_module": 105, "finit_module": 273, "delete_module": 106,
  "swapon": 224, "swapoff": 225, "reboot": 142, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432,
  "mount_setattr": 442, "process_vm_readv": 270, "settimeofday": 170, "syslog": 116, "acct": 89, "quotactl": 60}
numbers = x86 if platform.machine() == "x86_64" else arm
for name, number in numbers.items():
    ctypes.set_errno(0)
    result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if not (result == -1 and ctypes.get_errno() == errno.EPERM): print(name, result, ctypes.get_errno())
result = libc.syscall(435, 0, 0)
if not (result == -1 and ctypes.get_errno() == errno.ENOSYS): print("clone3", result, ctypes.get_errno())
if platform.machine() == "x86_64":
    for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x04000000, 0x08000000, 0x02000000):
        result = libc.syscall(56, flag | 17, 0, 0, 0, 0)
        if result == 0: libc._exit(0)
        if not (result == -1 and ctypes.get_errno() == errno.EPERM): print("clone", hex(flag), result, ctypes.get_errno())
    result = libc.syscall(0x40000000 + 39)
    if not (result == -1 and ctypes.get_errno() == errno.ENOSYS): print("x32 getpid", result, ctypes.get_errno())
`;

export const KERNEL_CASES: readonly ConformanceCase[] = [
  ...["root", "agent"].map(
    (user, index): ConformanceCase => ({
      number: 48,
      part: "ab".charAt(index),
      title: `namespaces, mounts, modules and their kin are refused to ${user}`,
      run: (boxes) =>
        boxes.with(async (sandbox) => {
          expect(await output(sandbox, ["python3", "-c", CALLS], { user })).toBe("");
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
