/** What `sandlot doctor` says of bwrap: the program, Python, ids, and a real sandbox that ran a real command. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { toFailure } from "../../core/errors.ts";
import type { ProbeLine, ProbeReport } from "../../core/sandbox.ts";
import { userIds } from "../user-ids.ts";
import { PYTHON } from "./agent-bundle.ts";

/** `trial` makes a sandbox, runs a command in it and destroys it. */
export async function probeBwrap(program: string, trial: () => Promise<void>): Promise<ProbeReport> {
  const lines = [bwrap(program), python(), ids()];
  if (lines.every((line) => line.ok || !line.required)) lines.push(await tried(trial));
  return { provider: "bwrap", ok: lines.every((line) => line.ok || !line.required), lines };
}

function bwrap(program: string): ProbeLine {
  try {
    const evidence = execFileSync(program, ["--version"], { encoding: "utf8" }).trim();
    return { name: "bwrap", required: true, ok: true, evidence, remedy: null };
  } catch {
    const evidence = `${program} cannot be run`;
    return { name: "bwrap", required: true, ok: false, evidence, remedy: "apt-get install bubblewrap" };
  }
}

function python(): ProbeLine {
  const ok = existsSync(PYTHON);
  const evidence = ok ? PYTHON : `no ${PYTHON}`;
  return { name: "python3", required: true, ok, evidence, remedy: ok ? null : "apt-get install python3" };
}

function ids(): ProbeLine {
  const { kind } = userIds();
  const ok = kind !== "self";
  return {
    name: "ids",
    required: false,
    ok,
    evidence: ok ? "a sandbox has a range of ids" : "one id: a sandbox has no user but root",
    remedy: ok ? null : "apt-get install uidmap; usermod --add-subuids 200000-265535 --add-subgids 200000-265535 NAME",
  };
}

async function tried(trial: () => Promise<void>): Promise<ProbeLine> {
  const line = { name: "sandbox", required: true };
  try {
    await trial();
    return { ...line, ok: true, evidence: "one was made, ran a command and was destroyed", remedy: null };
  } catch (error) {
    const remedy = "Read the reason; inside a container, allow namespaces and mounts.";
    return { ...line, ok: false, evidence: toFailure(error).message, remedy };
  }
}
