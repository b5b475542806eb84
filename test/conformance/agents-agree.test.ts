/**
 * The agent in C and the agent in Python speak one protocol: each call below has the same answer from both, field by
 * field, but for what a clock or a page count decides. A difference is a fault of one of the two.
 */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ExecOptions, ExecResult } from "../../src/core/exec.ts";
import type { Sandbox, SandboxProvider } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { bwrapProvider } from "../../src/sandbox/provider-bwrap.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { describeUnless, MISSING } from "../support/unless.ts";
import { OPTIONS, REQUEST } from "./sandbox-parts.ts";

const CASE_MS = 180_000;

interface Call {
  readonly title: string;
  run(sandbox: Sandbox): Promise<unknown>;
}

function told(result: ExecResult): unknown {
  const { durationMs, cpuMs, memoryPeakBytes, stdout, stderr, ...rest } = result;
  const isMeasured = durationMs >= 0 && cpuMs !== null && memoryPeakBytes !== null;
  return {
    ...rest,
    isMeasured,
    stdout: Buffer.from(stdout).toString("latin1"),
    stderr: Buffer.from(stderr).toString("latin1"),
  };
}

function exec(title: string, command: string | readonly string[], options: Partial<ExecOptions> = {}): Call {
  return { title, run: async (sandbox) => told(await sandbox.exec(command, { ...OPTIONS, ...options })) };
}

function calls(title: string, run: (sandbox: Sandbox) => Promise<unknown>): Call {
  return { title, run };
}

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");

const COMMANDS: readonly Call[] = [
  exec("nothing", ["/bin/true"]),
  exec("exit 137 is an exit", "exit 137"),
  exec("a signal is a signal", "kill -9 $$"),
  exec("a name is looked up", ["env"], { envVars: { B: "2", A: "1", EMPTY: "", LINES: "a\nb" } }),
  exec("both streams", "echo out; echo err >&2"),
  exec("input", ["cat"], { input: bytes("a\0b\xff") }),
  exec("no input", ["cat"]),
  exec("a cap", "head -c 100000 /dev/zero | tr '\\0' x; head -c 5000 /dev/zero >&2", { outputBytesMax: 1_000 }),
  calls("a cap that kills", async (sandbox) => {
    const result = await sandbox.exec("yes", { ...OPTIONS, outputBytesMax: 1_000, onOutputLimit: "kill" });
    /* How much more it wrote before its end is its own affair. */
    return [result.stdoutBytesTruncated > 0, told({ ...result, stdoutBytesTruncated: 0 })];
  }),
  exec("a cap of nothing", "echo hidden", { outputBytesMax: 0 }),
  exec("a timeout", "echo before; sleep 987", { timeoutMs: 300, killGraceMs: 50 }),
  exec("a timeout that is heeded", "trap 'echo bye; exit 3' TERM; sleep 987 & wait", {
    timeoutMs: 500,
    killGraceMs: 5_000,
  }),
  exec("a timeout that is ignored", "trap '' TERM; while :; do sleep 0.05; done", { timeoutMs: 300, killGraceMs: 50 }),
  exec("silence", "echo first; sleep 987", { idleOutputMs: 400, killGraceMs: 50 }),
  exec("a detached child is kept", "setsid sleep 987 & exit 4"),
  exec("a detached child is ended", "setsid sleep 987 & exit 4", { descendants: "kill" }),
  exec("a folder", "pwd", { cwd: "/usr/lib" }),
  exec("a missing folder", "pwd", { cwd: "/none" }),
  exec("a file for a folder", "pwd", { cwd: "/etc/passwd" }),
  exec("a missing program", ["/none"]),
  exec("a missing name", ["none-such"]),
  exec("an empty name", [""]),
  exec("a folder for a program", ["/usr"]),
  exec("a file for a program", ["/etc/passwd"]),
  exec("a path through a file", ["/etc/passwd/x"]),
  exec("a bad interpreter", "printf '#!/none\\n' > /tmp/bad; chmod 755 /tmp/bad; exec /tmp/bad"),
  exec("a bad interpreter of its own", ["/tmp/bad"]),
  exec("too long a word", ["/bin/echo", "x".repeat(200_000)]),
  exec("much in words", ["/bin/echo", ...Array.from({ length: 100 }, () => "y".repeat(20_000))]),
  exec("a user", "id -u; id -g; umask; echo $HOME; touch /root/x", { user: "agent" }),
  exec("a user by number", "id", { user: "4321" }),
  exec("groups", "cat /proc/self/status | grep -E '^(Groups|Cap|NoNew|Seccomp:|Sig(Ign|Blk|Cgt))'", {}),
  exec("limits", "ulimit -a | grep -v process"),
  exec("descriptors", "ls /proc/self/fd | wc -l"),
  exec("a session of its own", "ps -o pid= -o sid= -p $$ | awk '{print $1 == $2}'"),
  exec("a terminal", "stty size; tty; test -t 0 && echo yes", { pty: { columns: 77, rows: 33 } }),
  exec("a terminal with input", ["cat"], { pty: { columns: 80, rows: 24 }, input: bytes("line\npart") }),
  exec("a word that is no UTF-8", ["/usr/bin/printf", "%s", "\udcff"]),
  calls("pipes", async (sandbox) => {
    const got: string[] = [];
    const pipes = [
      { fd: 3, onBytes: (part: Uint8Array) => void got.push(Buffer.from(part).toString()) },
      {
        fd: 7,
        input: (async function* () {
          yield bytes("seven");
        })(),
      },
      {
        fd: 9,
        input: (async function* () {
          yield bytes("nine");
        })(),
        onBytes: (part: Uint8Array) => void got.push(Buffer.from(part).toString()),
      },
    ];
    const result = await sandbox.exec("cat <&7 >&3; head -c 4 <&9; echo back >&9", { ...OPTIONS, pipes });
    return [told(result), got];
  }),
  calls("a signal from outside", async (sandbox) => {
    const process = await sandbox.start("echo $$; exec sleep 987", {
      ...OPTIONS,
      onOutput: () => process.kill("SIGUSR1"),
    });
    const { stdout, ...rest } = told(await process.result) as Record<string, unknown>;
    return rest;
  }),
  calls("a cancelled command", async (sandbox) => {
    const stop = new AbortController();
    const options = { ...OPTIONS, signal: stop.signal, onOutput: () => stop.abort() };
    return told(await sandbox.exec("echo now; sleep 987", options));
  }),
];

const SHELLS: readonly Call[] = [
  calls("a kept shell", async (sandbox) => {
    const shell = await sandbox.shell({});
    const seen = [];
    for (const command of [
      "cd /tmp; x=1",
      "echo $x $PWD; false",
      "echo $?",
      "if",
      "exit 5",
      "echo $[x]",
      "cat; kill -9 $$",
    ]) {
      const { durationMs, output, ...rest } = await shell.run(command, OPTIONS);
      seen.push({ ...rest, output: Buffer.from(output).toString() });
    }
    await shell.close();
    return seen;
  }),
  calls("a kept shell at its limits", async (sandbox) => {
    const shell = await sandbox.shell({ user: "agent" });
    const seen = [];
    for (const [command, options] of [
      ["y=2; sleep 987", { timeoutMs: 300 }],
      ["echo $y", {}],
      ["seq 1000", { outputBytesMax: 10 }],
      ["while :; do :; done", { timeoutMs: 200 }],
      ["echo $[y]", {}],
    ] as const) {
      const { durationMs, output, ...rest } = await shell.run(command, { ...OPTIONS, ...options });
      seen.push({ ...rest, output: Buffer.from(output).toString() });
    }
    await shell.close();
    return seen;
  }),
];

const FILES: readonly Call[] = [
  calls("writing and reading", async ({ files }) => [
    await files.write({ path: "/tmp/f/g/h", bytes: bytes("hello"), mode: 0o4751 }),
    await files.read("/tmp/f/g/h", { bytesMax: 5 }),
    await files.read("/tmp/f/g/h", { bytesMax: 4 }),
    await files.readRange("/tmp/f/g/h", { offset: 1, bytes: 3 }),
    await files.readRange("/tmp/f/g/h", { offset: 9, bytes: 3 }),
    await statOf(files.stat("/tmp/f/g/h")),
    await statOf(files.stat("/tmp/f")),
  ]),
  calls("what cannot be read or written", async ({ files }) => {
    const seen = [];
    for (const path of [
      "/none",
      "/tmp",
      "/etc/passwd/x",
      "/proc/self/status",
      "/dev/null",
      "/proc",
      `/${"n".repeat(256)}`,
      "/tmp/.",
      "/",
    ])
      seen.push(
        path,
        await files.read(path, { bytesMax: 9 }),
        await files.write({ path, bytes: bytes("x"), mode: 0o644 }),
      );
    return seen;
  }),
  calls("links", async (sandbox) => {
    await sandbox.exec(
      "mkdir -p /tmp/l; cd /tmp/l; ln -s /etc e; ln -s ../../../../etc/passwd p; ln -s l l; ln -s /proc/self/root r; mkfifo q",
      OPTIONS,
    );
    const { files } = sandbox;
    const seen: unknown[] = [];
    for (const name of ["e/hostname", "p", "l", "r/etc/hostname", "q", "e"]) {
      const path = `/tmp/l/${name}`;
      seen.push(
        name,
        await files.read(path, { bytesMax: 1_000 }),
        await statOf(files.stat(path)),
        await files.chmod(path, 0o640),
      );
    }
    return seen;
  }),
  calls("folders, renames and removals", async ({ files }) => [
    await files.mkdir("/tmp/d/e", { mode: 0o711 }),
    await files.write({ path: "/tmp/d/e/f", bytes: bytes("1"), mode: 0o600 }),
    await files.rename("/tmp/d/e/f", "/tmp/d/f"),
    await files.rename("/tmp/none", "/tmp/d/f"),
    await files.rename("/tmp/d", "/tmp/d/e/x"),
    await files.rename("/tmp/d/f", "/tmp/d/e"),
    await files.remove("/tmp/d", { recursive: false }),
    await files.remove("/tmp/d/f"),
    await files.remove("/tmp/d", { recursive: true }),
    await files.remove("/tmp/d", { recursive: true }),
    await files.remove("/usr/bin/env"),
    await files.mkdir("/etc/passwd/x"),
    await files.mkdir("/usr/x"),
  ]),
  calls("listings", async (sandbox) => {
    await sandbox.exec(
      "mkdir -p /tmp/t/b/c; cd /tmp/t; echo 1 > a; chmod 640 a; ln -s a z; mkfifo b/p; echo 22 > b/c/d",
      OPTIONS,
    );
    const { files } = sandbox;
    return [
      await files.list("/tmp/t", { recursive: true, entriesMax: 100 }),
      await files.list("/tmp/t", { recursive: false, entriesMax: 100 }),
      await files.list("/tmp/t", { recursive: true, entriesMax: 3 }),
      await files.list("/tmp/t/a", { recursive: false, entriesMax: 9 }),
      await files.list("/none", { recursive: false, entriesMax: 9 }),
      await files.list("/proc", { recursive: false, entriesMax: 9 }),
      await files.readTree("/tmp/t", { bytesMax: 100, entriesMax: 100 }),
      await files.readTree("/tmp/t", { bytesMax: 3, entriesMax: 100 }),
    ];
  }),
  calls("trees", async (sandbox) => {
    const host = mkdtempSync(join(tmpdir(), "sandlot-agree-"));
    try {
      writeFileSync(join(host, "one"), "1");
      symlinkSync("/etc/passwd", join(host, "link"));
      const { files } = sandbox;
      const limits = { bytesMax: 1_000, entriesMax: 10 };
      const seen = [
        await files.upload(host, "/tmp/up/there", { ...limits, user: "agent" }),
        await files.upload(host, "/tmp/up/there", limits),
        await files.upload(host, "/etc/passwd", limits),
        await files.upload(host, "/tmp/up2", { ...limits, entriesMax: 0 }),
        await statOf(files.stat("/tmp/up/there/one")),
        await statOf(files.stat("/tmp/up/there")),
        await files.list("/tmp/up", { recursive: true, entriesMax: 10 }),
        await statOf(files.stat("/tmp/up2")),
      ];
      const out = join(host, "out");
      writeFileSync(join(host, "two"), "2");
      const { mkdirSync } = await import("node:fs");
      mkdirSync(out);
      return [...seen, await files.download("/tmp/up", out, limits)];
    } finally {
      rmSync(host, { recursive: true, force: true });
    }
  }),
  calls("a frozen sandbox", async (sandbox) => {
    await sandbox.start("sleep 987", OPTIONS);
    await sandbox.freeze();
    const code = await sandbox.exec("true", OPTIONS).catch((error: { code: string }) => error.code);
    return [code, (await sandbox.processes()).length, await sandbox.files.read("/etc/hostname", { bytesMax: 100 })];
  }),
];

/** But for its times. */
async function statOf(asked: ReturnType<Sandbox["files"]["stat"]>): Promise<unknown> {
  const found = await asked;
  return found.ok ? { ...found.value, modifiedMs: 0 } : found;
}

describeUnless(MISSING.bubblewrap)("the agents of the helper and of bubblewrap", () => {
  const providers: SandboxProvider[] = [];
  beforeAll(() => {
    const runtime = systemRuntime();
    providers.push(namespaceProvider({ runtime }), bwrapProvider({ runtime }));
  });
  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  for (const { title, group } of [
    { title: "commands", group: COMMANDS },
    { title: "shells", group: SHELLS },
    { title: "files", group: FILES },
  ])
    test(
      `answer alike: ${title}`,
      async () => {
        const answers = await Promise.all(
          providers.map(async (provider) => {
            const sandbox = await provider.create(REQUEST, new AbortController().signal);
            try {
              const seen: Record<string, unknown> = {};
              for (const call of group) seen[call.title] = await call.run(sandbox);
              return seen;
            } finally {
              await sandbox.destroy();
            }
          }),
        );
        const [helper, bwrap] = answers;
        expect(Object.keys(helper ?? {})).toHaveLength(group.length);
        expect(bwrap).toEqual(helper);
      },
      CASE_MS,
    );
});
