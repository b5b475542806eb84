/** However commands begin and end, nothing of them stays behind in the agent. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";

const PTY = { columns: 80, rows: 24 };

async function* once(): AsyncIterable<Uint8Array> {
  yield Buffer.from("x");
}

function parentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1] ?? "0";
  } catch {
    return "0";
  }
}

/** The first process of this test's only sandbox: a grandchild, by way of the helper. */
function agentPid(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => parentOf(parentOf(pid)) === String(process.pid));
  if (found === undefined) throw new Error("The agent was not found.");
  return found;
}

async function everyKind(sandbox: Sandbox): Promise<void> {
  const options = { ...OPTIONS, outputBytesMax: 1_000 };
  await sandbox.exec("cat", { ...options, input: Buffer.alloc(100_000) });
  await sandbox.exec("tty; cat", { ...options, pty: PTY, input: Buffer.from("x\n") });
  await sandbox.exec(["/none"], options);
  await sandbox.exec("true", { ...options, cwd: "/none" });
  await sandbox.exec("yes", { ...options, onOutputLimit: "kill" });
  await sandbox.exec("sleep 9", { ...options, timeoutMs: 20, killGraceMs: 10 });
  const pipes = [
    { fd: 3, input: once() },
    { fd: 4, onBytes: () => undefined },
    { fd: 5, input: once(), onBytes: () => undefined },
  ];
  await sandbox.exec("cat <&3; echo x >&4; cat <&5", { ...options, pipes });
  const open = await sandbox.start("cat", { ...options, input: "open" });
  await open.write(Buffer.from("x"));
  open.closeInput();
  await open.result;
  const killed = await sandbox.start("cat", { ...options, input: "open", pty: PTY });
  killed.kill("SIGKILL");
  await killed.result;
  const shell = await sandbox.shell({});
  await shell.run("echo x", options);
  await shell.close();
  await sandbox.files.write({ path: "/tmp/x", bytes: Buffer.from("x"), mode: 0o644 });
  await sandbox.processes();
  await Promise.all(Array.from({ length: 10 }, () => sandbox.exec("sleep 0.01 & true", options)));
}

test("a thousand commands of every kind leave no descriptor, process or terminal in the agent", async (context) => {
  if (process.platform !== "linux") context.skip("the helper is for Linux");
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const sandbox = await provider.create(REQUEST, new AbortController().signal);
    const pid = agentPid();
    const settled = async (): Promise<number> => {
      while ((await sandbox.processes()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
      await sandbox.exec("true", OPTIONS);
      return readdirSync(`/proc/${pid}/fd`).length;
    };
    for (let round = 0; round < 5; round += 1) await everyKind(sandbox);
    const before = await settled();
    for (let round = 0; round < 40; round += 1) await everyKind(sandbox);
    /* Groups of commands are used again, and how many there are varies with how commands met. */
    expect(await settled()).toBeLessThan(before + 40);
    expect(Buffer.from((await sandbox.exec("ls /dev/pts", OPTIONS)).stdout).toString()).toBe("ptmx\n");
  } finally {
    await provider.close();
  }
});
