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

/** Throws `request_invalid` naming the first limit or time that cannot be kept as it is written. */
export function refuseInvalid({ limits, lifetimeMs, idleMs = lifetimeMs }: SandboxRequest): void {
  for (const [name, value] of Object.entries(limits)) {
    const isWhole = name !== "cpus";
    if (Number.isFinite(value) && value > 0 && (!isWhole || Number.isInteger(value))) continue;
    throw new Failure(
      "request_invalid",
      `Sandbox limit ${name} must be a positive ${isWhole ? "whole " : ""}number, not ${value}.`,
    );
  }
  for (const [name, value] of Object.entries({ lifetimeMs, idleMs }))
    if (!(value > 0)) throw new Failure("request_invalid", `Sandbox ${name} must be positive, not ${value}.`);
}
