/**
 * The helper process outside the sandboxes: started once per provider, asked for sandboxes over its socket, ended by
 * closing its control pipe. It removes everything itself, also when this process dies without a word.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../core/errors.ts";

export interface GroupSupport {
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string;
  readonly kill: string;
}

/** Limits of a sandbox that no control group of this machine keeps. */
export function unkeptLimits({ memory, pids, cpu }: GroupSupport): readonly string[] {
  return Object.entries({ memory, pids, cpu }).flatMap(([name, where]) => (where === "none" ? [name] : []));
}

export interface Zygote {
  readonly pid: number;
  /** Its owner token: the name of its run folder and of its control groups. */
  readonly owner: string;
  readonly groups: GroupSupport;
  /** False once the process has ended or refused a connection. */
  isAlive(): boolean;
  connect(): Promise<Socket>;
  /** Ends one sandbox by killing its PID 1. Its connection ends when nothing of it is left. */
  kill(id: string): void;
  /** Ends every sandbox and the process; resolves when it has left. */
  close(): Promise<void>;
}

/** Folder of run folders: `$XDG_RUNTIME_DIR/sandlot`, else `/run/sandlot`, else below the temporary folder. Mode 0700. */
export function runParent(): string {
  const candidates = [process.env["XDG_RUNTIME_DIR"], "/run", tmpdir()];
  for (const candidate of candidates) {
    if (candidate === undefined || candidate === "") continue;
    const path = join(candidate, "sandlot");
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      chmodSync(path, 0o700);
      return path;
    } catch {}
  }
  throw new Failure(
    "environment_missing",
    "No folder for sockets could be made; set XDG_RUNTIME_DIR to a writable one.",
  );
}

/** Throws `environment_missing` with what the kernel refused. */
export async function startZygote(program: string, image: string): Promise<Zygote> {
  const child = spawn(program, ["zygote", runParent(), image], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {},
    cwd: "/",
  });
  const ended = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
  const line = await firstLine(child, ended);
  const [word, owner = "", socketPath = "", ...rest] = line.split(" ");
  if (word !== "ready") {
    const reason = line.replace(/^error /, "") || "it ended without a word";
    throw new Failure(
      "environment_missing",
      `The sandbox helper could not start: ${reason}. Run "sandlot doctor" to see what this machine lacks.`,
    );
  }
  const support = Object.fromEntries(rest.map((pair) => pair.split("=", 2) as [string, string]));
  let isAlive = true;
  void ended.then(() => (isAlive = false));
  child.stdin.on("error", () => undefined);
  /* The helper must not keep the program running; the program's end ends the helper. */
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref?: () => void }).unref?.();
  return {
    pid: child.pid ?? 0,
    owner,
    groups: {
      memory: support["memory"] ?? "none",
      pids: support["pids"] ?? "none",
      cpu: support["cpu"] ?? "none",
      kill: support["kill"] ?? "none",
    },
    isAlive: () => isAlive,
    connect: async () => {
      try {
        return await connectTo(socketPath);
      } catch (error) {
        isAlive = false;
        throw error;
      }
    },
    kill: (id) => {
      if (isAlive) child.stdin.write(`kill ${id}\n`);
    },
    close: async () => {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}

function firstLine(child: ChildProcessByStdio<Writable, Readable, null>, ended: Promise<void>): Promise<string> {
  let text = "";
  return new Promise((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    child.stdout.on("close", () => resolve(text.trim()));
    void ended.then(() => resolve(text.trim()));
  });
}

function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const fail = (error: Error): void =>
      reject(
        new Failure("sandbox_unavailable", `The sandbox helper does not answer on ${path}: ${error.message}.`, {
          cause: error,
        }),
      );
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
