/** Cases 12, 46 to 56: the kernel's doors, the host's traces and the network, seen from inside. */
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { type Boxes, OPTIONS, output, text } from "./sandbox-parts.ts";

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

export function kernelConformance(boxes: Boxes): void {
  for (const user of ["root", "agent"])
    test(`48. namespaces, mounts, modules and their kin are refused to ${user}`, () =>
      boxes.with(async (sandbox) => {
        expect(await output(sandbox, ["python3", "-c", CALLS], { user })).toBe("");
      }));

  test("12. the agent can be neither seen, traced nor read", () =>
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
    }));

  test("46. system folders and kernel settings cannot be written, nor mounted writable", () =>
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
    }));

  test("47. a setuid program gives nobody more than they have", () =>
    boxes.with(async (sandbox) => {
      await output(sandbox, "cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id");
      expect(await output(sandbox, "/tmp/id -u", { user: "agent" })).toBe("1000\n");
      const status = await output(sandbox, "grep -E 'CapEff|CapPrm|CapAmb|NoNewPrivs' /proc/self/status", {
        user: "agent",
      });
      expect(status).toMatch(/CapPrm:\s+0+\nCapEff:\s+0+\nCapAmb:\s+0+\nNoNewPrivs:\s+1/);
    }));

  test("root of the sandbox keeps only the eight capabilities", () =>
    boxes.with(async (sandbox) => {
      expect(await output(sandbox, "grep -E 'CapEff|CapBnd' /proc/self/status")).toMatch(
        /CapEff:\s+0+4fb\nCapBnd:\s+0+4fb/,
      );
    }));

  test("51. raw devices and kernel windows are absent or masked", () =>
    boxes.with(async (sandbox) => {
      const nodes = "mem kmem port kmsg kvm fuse loop-control sda vda net/tun mapper ptmx";
      expect(await output(sandbox, `cd /dev; ls -d ${nodes} 2>/dev/null; true`)).toBe("");
      expect(await output(sandbox, "cat /proc/kcore /proc/keys /proc/timer_list /proc/kmsg 2>/dev/null | wc -c")).toBe(
        "0\n",
      );
      expect((await sandbox.exec("mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk", OPTIONS)).exitCode).not.toBe(0);
    }));

  test("52. there is no control group to write to", () =>
    boxes.with(async (sandbox) => {
      expect(
        await output(sandbox, "find / -xdev -name 'cgroup.procs' 2>/dev/null; grep cgroup /proc/mounts; true"),
      ).toBe("");
    }));

  test("54. nothing of the host shows: environment, processes, name, files, paths", () =>
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
    }));

  test("55. without a network nothing is reachable, and it fails at once", () =>
    boxes.with(async (sandbox) => {
      expect(await output(sandbox, ["python3", "-c", SOCKETS])).toBe("[] ['lo']\n");
    }));

  test("56. two sandboxes use one port, and neither sees the other", () =>
    boxes.with((one) =>
      boxes.with(async (two) => {
        const serve = ["import socket, os, time", "s = socket.socket(); s.bind(('127.0.0.1', 8080)); s.listen()"].join(
          "\n",
        );
        for (const sandbox of [one, two])
          await output(sandbox, ["python3", "-c", `${serve}\nif os.fork() == 0: time.sleep(987)`]);
        const probe = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 8080)))";
        expect(await output(one, ["python3", "-c", probe])).toBe("0\n");
        await one.exec("kill -9 -1", OPTIONS);
        expect(await output(one, ["python3", "-c", probe])).not.toBe("0\n");
        expect(await output(two, ["python3", "-c", probe])).toBe("0\n");
      }),
    ));

  test("58. nothing of one sandbox is ever seen in the next", async () => {
    await boxes.with((sandbox) =>
      output(sandbox, "for d in /tmp /dev/shm /root /etc /app /var/tmp; do echo secret > $d/left-over; done"),
    );
    await boxes.with(async (sandbox) => {
      expect(await output(sandbox, "find / -xdev -name left-over; ls /dev/shm")).toBe("");
      expect(await output(sandbox, "ipcs -a 2>/dev/null | grep -c 0x; true")).toBe("0\n");
    });
  });

  test("a command runs as the user it names, and the image knows four", () =>
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
    }));
}
