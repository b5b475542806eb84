/**
 * What every provider refuses of a request, whatever it is made of: isolation it does not give, and numbers that are no
 * limits. Each provider adds what it alone cannot keep.
 */
import { Failure } from "../core/errors.ts";
import type { Isolation, SandboxRequest } from "../core/sandbox.ts";

const STRENGTH: readonly Isolation[] = ["process", "namespace", "gvisor", "vm"];

/** Throws `isolation_too_weak` when more is asked for than `offered`; `who` begins its second half, `remedy` ends it. */
export function refuseTooWeak({ isolationMin }: SandboxRequest, offered: Isolation, who: string, remedy = ""): void {
  if (STRENGTH.indexOf(isolationMin) <= STRENGTH.indexOf(offered)) return;
  const end = remedy === "" ? "" : ` ${remedy}`;
  throw new Failure(
    "isolation_too_weak",
    `Isolation "${isolationMin}" was asked for; ${who} gives "${offered}".${end}`,
  );
}

/** The most the kernel takes, whatever the machine has; of bytes and files, what a number can tell exactly. */
const MOST: Readonly<Record<string, number>> = { cpus: 8_192, processesMax: 4_194_304 };

/** Throws `request_invalid` naming the first limit or time that cannot be kept as it is written. */
export function refuseInvalid({ limits, lifetimeMs, idleMs = lifetimeMs }: SandboxRequest): void {
  for (const [name, value] of Object.entries(limits)) {
    const isWhole = name !== "cpus";
    const most = MOST[name] ?? Number.MAX_SAFE_INTEGER;
    const isSound = Number.isFinite(value) && value > 0 && (!isWhole || Number.isInteger(value));
    if (isSound && value <= most) continue;
    const kind = `a positive ${isWhole ? "whole " : ""}number`;
    throw new Failure(
      "request_invalid",
      `Sandbox limit ${name} must be ${isSound ? `at most ${most}` : kind}, not ${value}.`,
    );
  }
  for (const [name, value] of Object.entries({ lifetimeMs, idleMs }))
    if (!(value > 0)) throw new Failure("request_invalid", `Sandbox ${name} must be positive, not ${value}.`);
}
