/**
 * User namespaces with a whole range of ids for sandboxes, each held by a descriptor: bwrap alone maps one id only. One
 * is kept ready, because making it takes two programs.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { Failure } from "../../core/errors.ts";
import { SUB_UID_COUNT, type UserIds } from "../user-ids.ts";

export interface UserNamespaces {
  /** A descriptor the caller closes; null where a sandbox has one id and bwrap makes its namespace. */
  take(): Promise<number | null>;
  close(): Promise<void>;
}

export function userNamespaces(ids: UserIds): UserNamespaces {
  let spare: Promise<number> | null = null;
  let isClosed = false;
  const prepare = (): Promise<number> => {
    const made = makeNamespace(ids);
    made.catch(() => undefined);
    return made;
  };
  return {
    take: async () => {
      if (ids.kind === "self") return null;
      const taken = spare ?? prepare();
      spare = null;
      const fd = await taken;
      if (!isClosed) spare ??= prepare();
      return fd;
    },
    close: async () => {
      isClosed = true;
      const left = spare;
      spare = null;
      const fd = await left?.catch(() => null);
      if (typeof fd === "number") closeSync(fd);
    },
  };
}

/** Its owner is the user bwrap runs as, which gives bwrap every right over it. */
export function spawnIds(ids: UserIds): { readonly uid?: number; readonly gid?: number } {
  return ids.kind === "root" ? { uid: ids.base, gid: ids.base } : {};
}

/** `cat` answers once it runs in the namespace, and ends when its input does. */
async function makeNamespace(ids: UserIds): Promise<number> {
  const holder = spawn("unshare", ["--user", "cat"], {
    ...spawnIds(ids),
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "pipe", "ignore"],
    cwd: "/",
  });
  try {
    holder.stdin.on("error", () => undefined);
    holder.stdin.write("\n");
    await Promise.race([once(holder.stdout, "data"), ended(holder)]);
    await mapIds(ids, holder.pid ?? 0);
    return openSync(`/proc/${holder.pid}/ns/user`, "r");
  } catch (cause) {
    throw new Failure("sandbox_unavailable", `A user namespace could not be made: ${String(cause)}`, { cause });
  } finally {
    holder.kill("SIGKILL");
    holder.stdin.destroy();
    holder.stdout.destroy();
  }
}

async function ended(holder: ChildProcess): Promise<never> {
  await once(holder, "close");
  throw new Error("unshare ended without a namespace");
}

async function mapIds(ids: UserIds, pid: number): Promise<void> {
  const range = `0 ${ids.base} ${SUB_UID_COUNT}`;
  if (ids.kind === "root") {
    writeFileSync(`/proc/${pid}/uid_map`, `${range}\n`);
    writeFileSync(`/proc/${pid}/gid_map`, `${range}\n`);
    return;
  }
  const run = promisify(execFile);
  await run("newuidmap", [String(pid), ...range.split(" ")]);
  await run("newgidmap", [String(pid), ...range.split(" ")]);
}
