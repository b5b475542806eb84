/**
 * The helper process outside the sandboxes: started once per provider, asked for sandboxes over its socket and told of
 * ends and layers over its control pipe, whose end ends it. It removes everything itself, also when this process dies
 * without a word.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../core/errors.ts";
import { userIds } from "./user-ids.ts";

/** How the helper of an ordinary user gets the ids of its sandboxes. */
function idsEnvVars(): Record<string, string> {
  const { kind } = userIds();
  return kind === "root" ? {} : { SANDLOT_IDS: kind };
}

export interface GroupSupport {
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string;
  readonly kill: string;
  /** Whose ids a sandbox has: a range of the machine's, a range of the user's, or the user's own id alone. */
  readonly ids: "root" | "range" | "self";
}

/** Sealed storage of ended sandboxes, on which others may stand. Names are lower-case words, at most 31 characters. */
export interface ZygoteLayers {
  /** The storage of a live sandbox becomes the layer when the sandbox has ended; a creation on it waits for that. */
  seal(boxId: string, layer: string): void;
  /** Frees a layer once no sandbox stands on it. */
  drop(layer: string): void;
  /** Makes one layer of several, top first. Throws `sandbox_unavailable` with what the kernel refused. */
  merge(layer: string, of: readonly string[]): Promise<void>;
  /** Copies what a live sandbox has written, which is frozen meanwhile. Throws like `merge`, and `unsupported`. */
  copy(layer: string, boxId: string): Promise<void>;
}

export interface Zygote {
  readonly pid: number;
  /** Its owner token: the name of its run folder and of its control groups. */
  readonly owner: string;
  readonly groups: GroupSupport;
  /** Null on a kernel that cannot lend a mount twice (before 6.15): its sandboxes have no snapshots. */
  readonly layers: ZygoteLayers | null;
  /** False once the process has ended or refused a connection. */
  isAlive(): boolean;
  connect(): Promise<Socket>;
  /** Ends one sandbox by killing its PID 1. Its connection ends when nothing of it is left. */
  kill(id: string): void;
  /** Ends one sandbox so long from now, in place of the time it was made with. */
  setLifetime(id: string, ms: number): void;
  /** Ends every sandbox and the process; resolves when it has left. */
  close(): Promise<void>;
}

/**
 * Folder of run folders: `$XDG_RUNTIME_DIR/sandlot`, else `/run/sandlot`, else one of this user's own below the temporary
 * folder, where a name that all users shared would belong to whoever came first. Mode 0700, and never another user's.
 */
export function runParent(): string {
  const uid = process.geteuid?.() ?? 0;
  const candidates = [
    [process.env["XDG_RUNTIME_DIR"], "sandlot"],
    ["/run", "sandlot"],
    [tmpdir(), `sandlot-${uid}`],
  ] as const;
  for (const [parent, name] of candidates) {
    if (parent === undefined || parent === "") continue;
    const path = join(parent, name);
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      const info = lstatSync(path);
      if (!info.isDirectory() || info.uid !== uid) continue;
      chmodSync(path, 0o700);
      return path;
    } catch {}
  }
  throw new Failure(
    "environment_missing",
    "No folder for sockets could be made; set XDG_RUNTIME_DIR to a writable one.",
  );
}

export interface ZygoteOptions {
  /** The image store's folder; images put there later can be used too. */
  readonly store: string;
  /** Lets a creation ask to fail at a step. For tests. */
  readonly allowsFaults?: boolean;
  /** So many machines are kept begun while renewals and forks ask for them; default 0. */
  readonly blanksMax?: number;
}

/** Throws `environment_missing` with what the kernel refused, `sandbox_unavailable` when it was killed meanwhile. */
export async function startZygote(program: string, options: ZygoteOptions): Promise<Zygote> {
  const flags = [...(options.allowsFaults === true ? ["--faults"] : []), `--blanks=${options.blanksMax ?? 0}`];
  const child = spawn(program, ["zygote", runParent(), options.store, ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
    env: idsEnvVars(),
    cwd: "/",
  });
  const ended = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
  const lines = readLines(child, ended);
  const line = await lines.first;
  const [word, owner = "", socketPath = "", ...rest] = line.split(" ");
  if (word !== "ready") {
    await ended;
    if (child.signalCode !== null)
      throw new Failure("sandbox_unavailable", `The sandbox helper was ended by ${child.signalCode} while it started.`);
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
  for (const stream of [child.stdin, child.stdout])
    if ("unref" in stream && typeof stream.unref === "function") stream.unref();
  const tell = (command: string): void => {
    if (isAlive) child.stdin.write(`${command}\n`);
  };
  return {
    pid: child.pid ?? 0,
    owner,
    groups: {
      memory: support["memory"] ?? "none",
      pids: support["pids"] ?? "none",
      cpu: support["cpu"] ?? "none",
      kill: support["kill"] ?? "none",
      ids: support["ids"] === "range" || support["ids"] === "self" ? support["ids"] : "root",
    },
    layers: support["layers"] === "sealed" ? layerCommands(tell, lines, ended) : null,
    isAlive: () => isAlive,
    connect: async () => {
      try {
        return await connectTo(socketPath);
      } catch (error) {
        isAlive = false;
        throw error;
      }
    },
    kill: (id) => tell(`kill ${id}`),
    setLifetime: (id, ms) => tell(`lifetime ${id} ${Math.ceil(ms)}`),
    close: async () => {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}

function layerCommands(tell: (command: string) => void, lines: Lines, ended: Promise<void>): ZygoteLayers {
  const waiting = new Map<string, (failure: Failure | null) => void>();
  lines.onLine = (line) => {
    const [word, layer = "", state, ...why] = line.split(" ");
    if (word !== "layer") return;
    const failure =
      state === "unsupported"
        ? new Failure("unsupported", "A running sandbox can be copied only where control groups v2 can freeze it.")
        : new Failure("sandbox_unavailable", `A layer could not be made: ${why.join(" ")}.`);
    waiting.get(layer)?.(state === "ready" ? null : failure);
  };
  void ended.then(() => {
    const failure = new Failure("sandbox_lost", "A layer could not be made: the sandbox helper ended.");
    for (const settle of [...waiting.values()]) settle(failure);
  });
  const make = (layer: string, command: string): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.set(layer, (failure) => {
        waiting.delete(layer);
        if (failure === null) resolve();
        else reject(failure);
      });
      tell(command);
    });
  return {
    seal: (boxId, layer) => tell(`seal ${boxId} ${layer}`),
    drop: (layer) => tell(`drop ${layer}`),
    merge: (layer, of) => make(layer, `merge ${layer} ${of.join(",")}`),
    copy: (layer, boxId) => make(layer, `copy ${layer} ${boxId}`),
  };
}

interface Lines {
  /** All there was, when the process ended before a whole line. */
  readonly first: Promise<string>;
  /** Called with every line after the first. */
  onLine: (line: string) => void;
}

function readLines(child: ChildProcessByStdio<Writable, Readable, null>, ended: Promise<void>): Lines {
  let text = "";
  let resolveFirst: (line: string) => void = () => undefined;
  let hasFirst = false;
  const lines: Lines = { first: new Promise((resolve) => (resolveFirst = resolve)), onLine: () => undefined };
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      if (hasFirst) lines.onLine(line);
      else resolveFirst(line);
      hasFirst = true;
    }
  });
  child.stdout.on("close", () => resolveFirst(text.trim()));
  void ended.then(() => resolveFirst(text.trim()));
  return lines;
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
