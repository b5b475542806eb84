/**
 * One line of `sandlot doctor` for each level of isolation, weakest first: whether a sandbox of it can be had here, why
 * not, and the command that would change it. Nothing is taken on trust: a kernel-based virtual machine counts only once a
 * guest has run, and Sandlot starts none.
 */
import { accessSync, closeSync, constants, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ProbeLine } from "../core/sandbox.ts";

/** `hasNamespaces`: a sandbox of that level could be made. */
export function isolationLines(hasNamespaces: boolean): readonly ProbeLine[] {
  return [
    level("process", false, "not offered: whoever asks for it gets the stronger namespace", null),
    level("namespace", hasNamespaces, hasNamespaces ? "the sandbox above" : "see the lines above", null),
    gvisor(),
    vm(),
  ];
}

function level(name: string, ok: boolean, evidence: string, remedy: string | null): ProbeLine {
  return { name, required: false, ok, evidence, remedy: ok ? null : remedy };
}

/** Sandlot uses it through a container engine, whose own probe says whether the engine knows it. */
function gvisor(): ProbeLine {
  const path = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "runsc"))
    .find(isExecutable);
  const remedy = "install runsc and register it with the engine: runsc install && systemctl reload docker";
  return path === undefined
    ? level("gvisor", false, 'no program "runsc" on PATH', remedy)
    : level("gvisor", false, `${path} is there; ask the docker provider for it, which has a probe of its own`, null);
}

function vm(): ProbeLine {
  let opened = "opens";
  try {
    closeSync(openSync("/dev/kvm", constants.O_RDWR));
  } catch (error) {
    opened = `does not open (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
  }
  const reason = `/dev/kvm ${opened}, which proves nothing, and Sandlot has no provider that starts a guest`;
  return level(
    "vm",
    false,
    reason,
    "use an engine whose runtime starts guests, such as kata, on a host with nested KVM",
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
