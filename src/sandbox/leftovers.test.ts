/** An agent that lost its zygote is found without any control group, and everybody else's process is left alone. */
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import { systemRuntime } from "../runtime/system.ts";
import { findLeftovers, ownerState } from "./leftovers.ts";
import { sweepLeftovers } from "./sweep.ts";
import { SUB_UID } from "./user-ids.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-leftovers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0] ?? 0);
}

async function until<T>(look: () => T | null): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const found = (pid: number) =>
  findLeftovers(folder).find(({ kind, name }) => kind === "process" && name === String(pid));

/** PID 1 of a namespace of its own, called as an agent is, and the process that waits for it. */
async function startAgent(): Promise<{ readonly parent: number; readonly agent: number }> {
  const program = join(folder, "sandlot-agent");
  copyFileSync("/usr/bin/sleep", program);
  spawnSync("chmod", ["755", folder, program]);
  const as = ["setpriv", `--reuid=${SUB_UID}`, `--regid=${SUB_UID}`, "--clear-groups"];
  const parent = spawn("unshare", ["-p", "-f", ...as, program, "982"], { stdio: "ignore" }).pid ?? 0;
  const name = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  const agent = await until(() => {
    const child = childOf(parent);
    return child > 0 && name(child) === "sandlot-agent" ? child : null;
  });
  return { parent, agent };
}

testUnless(MISSING.root)(
  "an agent whose zygote died is a leftover of a dead owner, and the sweep ends it",
  async () => {
    const { parent, agent } = await startAgent();
    expect(found(agent), "while somebody waits for it").toBeUndefined();
    process.kill(parent, "SIGKILL");
    const left = await until(() => found(agent) ?? null);
    expect(ownerState(left.owner)).toBe("dead");
    expect((await sweepLeftovers(systemRuntime(), folder)).removed).toContain(`process ${agent}`);
    expect(found(agent)).toBeUndefined();
  },
);
