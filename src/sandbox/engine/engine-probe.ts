/**
 * What the container engine of this machine offers, line by line, for `sandlot doctor`: where it listens, what it limits,
 * which runtimes it has, and a real container that ran a real command.
 */
import { existsSync } from "node:fs";
import { toFailure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { ProbeLine, ProbeReport, SandboxProvider } from "../../core/sandbox.ts";
import { tryOneSandbox } from "../trial.ts";
import { isolationOf } from "./container-capabilities.ts";
import { type EngineFacts, type EngineKind, engineClient, findSocket } from "./engine-client.ts";

export interface ProbeEngineOptions {
  readonly runtime: Runtime;
  readonly socketPath?: string;
  readonly engine?: EngineKind;
  readonly runtimeClass?: string;
}

/** `openProvider` gives the trial a provider of its own, so that a probe changes nothing of the one that serves. */
export async function probeEngine(
  options: ProbeEngineOptions,
  openProvider: () => SandboxProvider,
): Promise<ProbeReport> {
  const lines: ProbeLine[] = [];
  try {
    const socketPath = options.socketPath ?? findSocket(options.engine);
    const facts = await engineClient(options.runtime, socketPath).facts();
    lines.push(line("engine", true, true, `${facts.kind} ${facts.version} at ${socketPath}`, ""));
    lines.push(limits(facts), storage(facts), runtimeLine("gvisor", facts), runtimeLine("vm", facts));
    lines.push(await tryOne(openProvider));
  } catch (error) {
    const { code, message } = toFailure(error);
    const remedy = "Start Docker, or: podman system service --time=0";
    /* Where none listens the sentence ends with its remedy, which has a line of its own here. */
    const evidence = code === "environment_missing" ? message.replace(`. ${remedy}`, "") : message;
    lines.push(line("engine", true, false, evidence, remedy));
  }
  return { provider: options.engine ?? "docker", ok: lines.every((each) => each.ok || !each.required), lines };
}

function line(name: string, required: boolean, ok: boolean, evidence: string, remedy: string): ProbeLine {
  return { name, required, ok, evidence, remedy: ok ? null : remedy };
}

function limits({ limits: kept, cgroupVersion }: EngineFacts): ProbeLine {
  const missing = Object.entries(kept).flatMap(([name, isKept]) => (isKept ? [] : [name]));
  const evidence = `cgroup v${cgroupVersion}: ${missing.length === 0 ? "memory, pids and cpu" : `no ${missing.join(", ")}`}`;
  const remedy = "Give the engine the missing control group controllers (docker info names them).";
  return line("limits", true, missing.length === 0, evidence, remedy);
}

function storage({ storageDriver }: EngineFacts): ProbeLine {
  const remedy = "Use a storage driver with quotas, such as btrfs, for limits of disk space.";
  return line("disk limit", false, ["btrfs", "zfs"].includes(storageDriver), `storage ${storageDriver}`, remedy);
}

/** Podman lists runtimes it would look for, so a path that is told must exist. */
function runtimeLine(isolation: "gvisor" | "vm", { runtimes }: EngineFacts): ProbeLine {
  const found = Object.entries(runtimes).find(
    ([name, path]) => isolationOf(name) === isolation && (!path.startsWith("/") || existsSync(path)),
  );
  const name = isolation === "gvisor" ? "runsc" : "kata-runtime";
  const evidence = found === undefined ? `no engine runtime "${name}"` : `engine runtime "${found[0]}"`;
  return line(isolation, false, found !== undefined, evidence, `Install ${name} and register it with the engine.`);
}

async function tryOne(openProvider: () => SandboxProvider): Promise<ProbeLine> {
  try {
    await tryOneSandbox(openProvider());
    return line("sandbox", true, true, "one was made, ran a command and was destroyed", "");
  } catch (error) {
    return line(
      "sandbox",
      true,
      false,
      toFailure(error).message,
      "Read the reason; the engine's own log may say more.",
    );
  }
}
