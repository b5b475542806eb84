/**
 * A container engine used as its own users do, through its API alone: a container per sandbox, an API exec per command.
 * The image is one static program of a few kilobytes, which favours the peer.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import Docker from "dockerode";
import { findCompiler } from "../native/build.ts";
import { systemRuntime } from "../src/runtime/system.ts";
import type { Contender } from "../src/sandbox/bench/contender.ts";
import { engineClient } from "../src/sandbox/engine/engine-client.ts";

/** Waits as PID 1, does nothing as `true`. */
const PROGRAM = `#include <signal.h>
#include <string.h>
#include <unistd.h>
static void leave(int signal) { (void)signal; _exit(0); }
int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "wait") == 0) { signal(SIGTERM, leave); for (;;) pause(); }
  return 0;
}
`;
const IMAGE = "sandlot/bench";

async function importImage(socketPath: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-bench-"));
  try {
    mkdirSync(join(folder, "root", "bin"), { recursive: true });
    writeFileSync(join(folder, "program.c"), PROGRAM);
    const program = join(folder, "root", "bin", "true");
    execFileSync(findCompiler([]), ["-O2", "-static", "-o", program, join(folder, "program.c")]);
    const tar = spawn("tar", ["-C", join(folder, "root"), "-cf", "-", "."], { stdio: ["ignore", "pipe", "ignore"] });
    return await engineClient(systemRuntime(), socketPath).importImage(tar.stdout, IMAGE, "1");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function execTrue(container: Docker.Container): Promise<void> {
  const exec = await container.exec({ Cmd: ["/bin/true"], AttachStdout: true, AttachStderr: true });
  const stream: Duplex = await exec.start({});
  await new Promise<void>((resolve, reject) => {
    stream.on("end", resolve);
    stream.on("error", reject);
    stream.resume();
  });
  /* The stream can end before the exit code is known. */
  for (;;) {
    const { Running: isRunning, ExitCode: exitCode } = await exec.inspect();
    if (!isRunning && exitCode === 0) return;
    if (!isRunning && exitCode !== null) throw new Error(`exit code ${exitCode}`);
  }
}

/** Throws when the engine cannot make a container here. */
export async function engineApiContender(socketPath: string, name: string): Promise<Contender> {
  const docker = new Docker({ socketPath });
  const { Version: version } = await docker.version();
  const image = await importImage(socketPath);
  return {
    name,
    version: `${version}, API exec`,
    create: async () => {
      const container = await docker.createContainer({
        Image: image,
        Cmd: ["/bin/true", "wait"],
        HostConfig: { NetworkMode: "none", Memory: 256 << 20, PidsLimit: 256 },
      });
      await container.start();
      await execTrue(container);
      return {
        execNothing: () => execTrue(container),
        destroy: async () => void (await container.remove({ force: true })),
      };
    },
  };
}
