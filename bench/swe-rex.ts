/**
 * The public SWE-ReX server as a contender: its own code in a Python environment of its own, started on loopback. It runs
 * commands in the machine it stands on, so its "create" is the start of a server and isolates nothing.
 */
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../native/build.ts";
import type { Contender } from "../src/sandbox/bench/contender.ts";

const VERSION = "1.4.0";
const START_MS = 30_000;
const run = promisify(execFile);

/** Makes the Python environment once. Throws with what failed. */
export async function prepareSweRex(): Promise<string> {
  const folder = join(cacheFolder(), "bench", `swe-rex-${VERSION}`);
  const program = join(folder, "bin", "swerex-remote");
  if (existsSync(program)) return program;
  await run("python3", ["-m", "venv", folder]);
  await run(join(folder, "bin", "pip"), ["install", "--quiet", `swe-rex==${VERSION}`], { timeout: 300_000 });
  return program;
}

interface Server {
  ask(path: string, body: object): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

async function startServer(program: string): Promise<Server> {
  const port = await freePort();
  const token = randomBytes(16).toString("hex");
  const child = spawn(program, ["--host", "127.0.0.1", "--port", String(port), "--auth-token", token], {
    stdio: "ignore",
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const headers = { "X-API-Key": token, "content-type": "application/json" };
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const end = performance.now() + START_MS;
  for (;;) {
    const isUp = await fetch(`${url}/is_alive`, { headers }).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) break;
    if (child.exitCode !== null || performance.now() > end) {
      await stop();
      throw new Error("swerex-remote did not start");
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    stop,
    ask: async (path, body) => {
      const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    },
  };
}

/** One command per request, and one command in a kept shell: its two ways to run something. */
export function sweRexContenders(program: string): readonly Contender[] {
  const execute = async (server: Server): Promise<void> => {
    const { exit_code: exitCode } = await server.ask("/execute", { command: ["/bin/true"] });
    if (exitCode !== 0) throw new Error(`exit code ${String(exitCode)}`);
  };
  const inShell = async (server: Server): Promise<void> => {
    const { exit_code: exitCode } = await server.ask("/run_in_session", { action_type: "bash", command: "true" });
    if (exitCode !== 0) throw new Error(`exit code ${String(exitCode)}`);
  };
  const contender = (name: string, prepare: (server: Server) => Promise<unknown>, exec: typeof execute): Contender => ({
    name,
    version: `swe-rex ${VERSION}, no isolation`,
    create: async () => {
      const server = await startServer(program);
      try {
        await prepare(server);
        await exec(server);
      } catch (error) {
        await server.stop();
        throw error;
      }
      return { execNothing: () => exec(server), destroy: () => server.stop() };
    },
  });
  return [
    contender("SWE-ReX /execute", async () => undefined, execute),
    contender("SWE-ReX kept shell", (server) => server.ask("/create_session", { session_type: "bash" }), inShell),
  ];
}
