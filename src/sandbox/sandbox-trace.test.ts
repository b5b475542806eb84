import { afterAll, expect, test } from "vitest";
import { describeUnless, MISSING } from "../../test/support/unless.ts";
import type { Sandbox, SandboxEvent, SandboxRequest } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "./provider-namespace.ts";

const provider = namespaceProvider({ runtime: systemRuntime() });
const OPTIONS = { timeoutMs: 20_000, outputBytesMax: 65_536 };
const REQUEST: SandboxRequest = {
  attemptId: "trace",
  role: "agent",
  fence: 1,
  image: "host",
  isolationMin: "namespace",
  limits: {
    cpus: 1,
    memoryBytes: 2 ** 28,
    diskBytes: 2 ** 26,
    filesMax: 1000,
    processesMax: 64,
    shmBytes: 2 ** 20,
  },
  network: { mode: "off" },
  envVars: {},
  labels: {},
  lifetimeMs: 60_000,
};

afterAll(async () => {
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

/** What was recorded of a sandbox in which `prepare` made the files and `command` ran as a user. */
async function recorded(command: string, act: (sandbox: Sandbox) => Promise<void> = async () => undefined) {
  const sandbox = await provider.create(REQUEST, new AbortController().signal);
  try {
    await sandbox.files.write({ path: "/tests/unit/hidden.py", bytes: Buffer.from("x"), mode: 0o644 });
    await sandbox.files.write({ path: "/work/open.txt", bytes: Buffer.from("x"), mode: 0o666 });
    const trace = await sandbox.trace?.(["/tests", "/missing"]);
    if (trace === null || trace === undefined) throw new Error("no trace");
    await sandbox.exec(command, { ...OPTIONS, user: "agent" });
    await act(sandbox);
    return await trace.log();
  } finally {
    await sandbox.destroy();
  }
}

const shown = ({ kind, path, argv }: SandboxEvent): string => `${kind} ${argv?.join(" ") ?? path}`;

describeUnless(MISSING.root)("what a sandbox does is recorded outside of it", () => {
  test("which programs were started with which words, and by which process", async () => {
    const { events, dropped } = await recorded("ls /work >/dev/null; sleep 0.05");
    expect(events.map(shown)).toEqual(expect.arrayContaining(["exec ls /work", "exec sleep 0.05"]));
    expect(events.every(({ pid, atMs }) => pid !== null && atMs >= 0)).toBe(true);
    expect(dropped).toBe(0);
  });

  test("who opened and who wrote a watched file, and nothing of others", async () => {
    const root = async (sandbox: Sandbox): Promise<void> => {
      await sandbox.exec("echo y >> /tests/unit/hidden.py; cat /work/open.txt", OPTIONS);
    };
    const { events } = await recorded("cat /tests/unit/hidden.py /work/open.txt", root);
    const touched = events.filter(({ kind }) => kind !== "exec");
    expect(touched.map(shown)).toEqual([
      "open /tests/unit/hidden.py",
      "open /tests/unit/hidden.py",
      "write /tests/unit/hidden.py",
    ]);
  });

  test("who opened the environment of another process, and not who looked at its own", async () => {
    const { events } = await recorded(
      "cat /proc/self/environ >/dev/null; sleep 3 & cat /proc/$!/environ >/dev/null; wait -n",
    );
    const opened = events.filter(({ kind }) => kind === "open");
    expect(opened.map(({ path }) => path)).toEqual([expect.stringMatching(/^\/proc\/\d+\/environ$/)]);
  });

  test("a flood of programs is bounded, and what is left out of it is counted", async () => {
    const flood = "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; exec ls /";
    const { events } = await recorded(flood);
    expect(events.filter(({ path }) => path.endsWith("/true")).length).toBeLessThanOrEqual(16);
    expect(events.map(shown)).toContain("exec ls /");
  });

  test("root of the sandbox sees no recorder, and cannot end it", async () => {
    const act = async (sandbox: Sandbox): Promise<void> => {
      const seen = await sandbox.exec("kill -9 -1; ps -e 2>/dev/null; ls /proc/*/comm | xargs grep -l trace", OPTIONS);
      expect(Buffer.from(seen.stdout).toString()).not.toContain("trace");
      await sandbox.exec("ls /tests", OPTIONS);
    };
    const { events } = await recorded("true", act);
    expect(events.map(shown)).toContain("exec ls /tests");
  });

  test("the record outlives its sandbox", async () => {
    const sandbox = await provider.create(REQUEST, new AbortController().signal);
    const trace = await sandbox.trace?.([]);
    await sandbox.exec(["/bin/ls"], OPTIONS);
    await sandbox.destroy();
    expect((await trace?.log())?.events.map(({ path }) => path)).toContain("/usr/bin/ls");
  });
});
