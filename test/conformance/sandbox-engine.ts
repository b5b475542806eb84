/**
 * What a container engine adds to the suite: what the engine itself is asked to keep, images of the store and of the
 * engine, and containers whose owner is gone.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { describe, expect, onTestFinished, test } from "vitest";
import { findCompiler } from "../../native/build.ts";
import type { SandboxProvider } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { KEPT_CAPABILITIES } from "../../src/sandbox/engine/container-options.ts";
import { engineClient } from "../../src/sandbox/engine/engine-client.ts";
import { LABEL } from "../../src/sandbox/engine/labels.ts";
import { openImageStore } from "../../src/sandbox/image/image-store.ts";
import { dockerProvider } from "../../src/sandbox/provider-docker.ts";
import type { EngineProcess } from "../support/engine-process.ts";
import { OPTIONS, output, REQUEST, text } from "./sandbox-parts.ts";

const NEVER = new AbortController().signal;
const CASE_MS = 180_000;

/** Declares the cases inside the caller's test file. */
export function engineCases(engine: EngineProcess): void {
  describe("sandboxes of an engine", () => {
    const declare = (title: string, run: () => Promise<void>): void => {
      test(title, (context) => (engine.reason === null ? run() : context.skip(engine.reason)), CASE_MS);
    };
    declare("the engine is asked for every limit, and for nothing that weakens them", () => askedFor(engine));
    declare("root of a container can neither trace nor read its agent", () => agentIsClosed(engine));
    declare("a container's own control groups can be read and not changed", () => groupsAreClosed(engine));
    declare("a folder becomes an image once, and its files are the sandbox's own", () => folderImage(engine));
    declare("an image of the engine serves as it is, with its variables", () => engineImage(engine));
    declare("a container ends with the process that owned it, though that was killed", () => ownerKilled(engine));
    declare("a sweep removes what is over or has a dead owner, and spares the rest", () => sweepSpares(engine));
    declare("a sandbox is listed by its labels, and ended by its id from another provider", () => endedById(engine));
    declare("a container that was removed behind our back is a lost sandbox", () => removedOutside(engine));
  });
}

function open(engine: EngineProcess, more: { readonly imageFolder?: string } = {}): SandboxProvider {
  const runtime = systemRuntime();
  const images =
    more.imageFolder === undefined ? {} : { images: openImageStore({ runtime, folder: more.imageFolder }) };
  const provider = dockerProvider({ runtime, socketPath: engine.socketPath, ...images });
  onTestFinished(() => provider.close());
  return provider;
}

function docker(engine: EngineProcess): Docker {
  return new Docker({ socketPath: engine.socketPath });
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-engine-case-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function askedFor(engine: EngineProcess): Promise<void> {
  const sandbox = await open(engine).create(REQUEST, NEVER);
  const { Config, HostConfig } = await docker(engine).getContainer(`sandlot-${sandbox.id}`).inspect();
  const { limits } = REQUEST;
  expect(HostConfig).toMatchObject({
    AutoRemove: true,
    NetworkMode: "none",
    Privileged: false,
    PidsLimit: limits.processesMax + 1,
    Memory: limits.memoryBytes + limits.shmBytes,
    MemorySwap: limits.memoryBytes + limits.shmBytes,
    CpuPeriod: 100_000,
    CpuQuota: 200_000,
    ShmSize: limits.shmBytes,
  });
  expect(HostConfig.SecurityOpt).toEqual(["no-new-privileges"]);
  const status = await output(sandbox, "grep -E '^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status");
  expect(status.replaceAll(/\s+/g, " ")).toMatch(/CapPrm: 0+4fb CapEff: 0+4fb CapBnd: 0+4fb NoNewPrivs: 1 Seccomp: 2/);
  expect(await output(sandbox, "cat /proc/sys/kernel/shmall")).toBe(`${limits.shmBytes / 4_096}\n`);
  expect(KEPT_CAPABILITIES).toHaveLength(8);
  expect(Config.Labels).toMatchObject({ [LABEL.attemptId]: "conformance", [LABEL.role]: "agent", [LABEL.fence]: "1" });
  await sandbox.destroy();
}

async function agentIsClosed(engine: EngineProcess): Promise<void> {
  const sandbox = await open(engine).create(REQUEST, NEVER);
  const script = [
    "import ctypes, os",
    "print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))",
    "for name in ('environ', 'mem', 'maps'):",
    "  try: print(name, open(f'/proc/1/{name}', 'rb').read(1))",
    "  except OSError: pass",
    "for name in ('root', 'cwd', 'exe', 'fd/512'):",
    "  try: print(name, os.readlink(f'/proc/1/{name}'))",
    "  except OSError: pass",
  ].join("\n");
  expect(await output(sandbox, ["python3", "-c", script])).toBe("-1\n");
  expect(await output(sandbox, "tr -d '\\0' </proc/1/cmdline")).toBe("");
  await sandbox.destroy();
}

async function groupsAreClosed(engine: EngineProcess): Promise<void> {
  const sandbox = await open(engine).create(REQUEST, NEVER);
  const script = [
    "import glob, os",
    "groups = [f for f in ['/sys/fs/cgroup/'] + glob.glob('/sys/fs/cgroup/*/') if os.path.exists(f + 'cgroup.procs')]",
    "assert groups",
    "for group in groups:",
    "  for name in os.listdir(group):",
    "    try: os.close(os.open(group + name, os.O_WRONLY)); print('opened', group + name)",
    "    except OSError: pass",
    "  try: os.mkdir(group + 'child'); print('made', group)",
    "  except OSError: pass",
  ].join("\n");
  expect(await output(sandbox, ["python3", "-c", script])).toBe("");
  await sandbox.destroy();
}

async function folderImage(engine: EngineProcess): Promise<void> {
  const folder = temporaryFolder();
  const root = join(folder, "root");
  for (const name of ["bin", "data", "proc", "dev", "sys", "etc"]) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, "data", "told"), "by the folder\n");
  const provider = open(engine, { imageFolder: join(folder, "store") });
  for (let round = 0; round < 2; round += 1) {
    const sandbox = await provider.create({ ...REQUEST, image: `folder:${root}` }, NEVER);
    const read = await sandbox.files.read("/data/told", { bytesMax: 100 });
    expect(read.ok && text(read.value)).toBe("by the folder\n");
    expect(await sandbox.files.write({ path: "/data/told", bytes: Buffer.from("changed"), mode: 0o644 })).toMatchObject(
      {
        ok: true,
      },
    );
    expect(await sandbox.exec(["/bin/sh"], OPTIONS)).toMatchObject({ startError: "not_found" });
    await sandbox.destroy();
  }
}

const TELLER = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { char at[99]; printf("%s %s\\n", getcwd(at, sizeof at), getenv("FROM_IMAGE")); }
`;

/** A program that needs nothing of the image it runs in. */
function teller(): Uint8Array {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "tell.c"), TELLER);
  execFileSync(findCompiler([]), ["-static", "-o", join(folder, "tell"), join(folder, "tell.c")]);
  return readFileSync(join(folder, "tell"));
}

async function engineImage(engine: EngineProcess): Promise<void> {
  const api = docker(engine);
  const first = await open(engine).create(REQUEST, NEVER);
  await output(first, "echo kept > /data-of-the-image; mkdir /work");
  await first.files.write({ path: "/tell", bytes: teller(), mode: 0o755 });
  await api
    .getContainer(`sandlot-${first.id}`)
    .commit({ repo: "localhost/own", tag: "1", changes: ["ENV FROM_IMAGE=yes", "WORKDIR /work"] });
  await first.destroy();
  const provider = open(engine);
  const sandbox = await provider.create({ ...REQUEST, image: "oci:localhost/own:1" }, NEVER);
  const read = await sandbox.files.read("/data-of-the-image", { bytesMax: 10 });
  expect(read.ok && text(read.value)).toBe("kept\n");
  expect(await output(sandbox, ["/tell"])).toBe("/work yes\n");
  expect(await output(sandbox, ["/tell"], { cwd: "/", envVars: { FROM_IMAGE: "no" } })).toBe("/ no\n");
  await sandbox.destroy();
  await expect(provider.create({ ...REQUEST, image: "oci:localhost/none:1" }, NEVER)).rejects.toMatchObject({
    code: "image_unavailable",
  });
}

/** A process with one sandbox that runs a command. */
const OWNER_PROGRAM = `
const [socketPath, source] = process.argv.slice(1);
const { systemRuntime } = await import(source + "/src/runtime/system.ts");
const { dockerProvider } = await import(source + "/src/sandbox/provider-docker.ts");
const { REQUEST, OPTIONS } = await import(source + "/test/conformance/sandbox-parts.ts");
const provider = dockerProvider({ runtime: systemRuntime(), socketPath });
const sandbox = await provider.create({ ...REQUEST, attemptId: "killed" }, new AbortController().signal);
await sandbox.exec("sleep 987 & true", OPTIONS);
console.log("up");
await sandbox.exec("sleep 986", OPTIONS);
`;

async function ownerKilled(engine: EngineProcess): Promise<void> {
  const source = join(import.meta.dirname, "..", "..");
  const owner = spawn(process.execPath, ["--input-type=module", "-e", OWNER_PROGRAM, engine.socketPath, source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => owner.stdout.once("data", resolve));
  const client = engineClient(systemRuntime(), engine.socketPath);
  const label = `${LABEL.attemptId}=killed`;
  expect(await client.list(label)).toHaveLength(1);
  owner.kill("SIGKILL");
  await expect.poll(() => client.list(label), { timeout: 10_000, interval: 50 }).toEqual([]);
}

async function sweepSpares(engine: EngineProcess): Promise<void> {
  const provider = open(engine);
  const mine = await provider.create(REQUEST, NEVER);
  const image = (await docker(engine).getContainer(`sandlot-${mine.id}`).inspect()).Image;
  const client = engineClient(systemRuntime(), engine.socketPath);
  const leave = (owner: string, machine: string, expiresAt: number): Promise<string> =>
    client.createContainer(null, {
      Image: image,
      Entrypoint: ["/none"],
      Labels: { [LABEL.owner]: owner, [LABEL.machine]: machine, [LABEL.expiresAt]: String(expiresAt) },
    });
  const never = Date.now() + 3_600_000;
  const dead = await leave("sandlot-00000000-1-1-1-00000000", hostname(), never);
  const foreign = await leave("sandlot-00000000-1-1-1-00000000", "another-machine", never);
  const over = await leave("sandlot-00000000-1-1-1-00000000", "another-machine", Date.now() - 1);
  const report = await provider.sweep();
  expect([...report.removed].sort()).toEqual([`container ${dead}`, `container ${over}`].sort());
  expect([...report.kept].sort()).toEqual([`container ${foreign}`, `container ${mine.id}`].sort());
  expect(await output(mine, "echo alive")).toBe("alive\n");
  await client.remove(foreign);
  await mine.destroy();
}

async function endedById(engine: EngineProcess): Promise<void> {
  const provider = open(engine);
  const sandbox = await provider.create({ ...REQUEST, labels: { colour: "red" } }, NEVER);
  expect(await provider.list({ colour: "red", role: "agent" })).toEqual([sandbox.info]);
  expect(await provider.list({ colour: "blue" })).toEqual([]);
  const other = open(engine);
  expect(await other.list()).toEqual([]);
  expect(await other.destroy(sandbox.id)).toBe("destroyed");
  expect(await other.destroy(sandbox.id)).toBe("absent");
  await expect(sandbox.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_lost" });
}

async function removedOutside(engine: EngineProcess): Promise<void> {
  const provider = open(engine);
  const sandbox = await provider.create(REQUEST, NEVER);
  const running = sandbox.exec("sleep 987", OPTIONS).catch((error: unknown) => error);
  await docker(engine).getContainer(`sandlot-${sandbox.id}`).remove({ force: true });
  expect(await running).toMatchObject({ code: "sandbox_lost" });
  expect(await provider.list()).toEqual([]);
  await sandbox.destroy();
}
