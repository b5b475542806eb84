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
export function refuseInvalid({ limits, lifetimeMs, idleMs = lifetimeMs, envVars }: SandboxRequest): void {
  refuseBadVariables(envVars);
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

/** No kernel takes more in one text, and all of them come with every command. */
const VARIABLE_BYTES_MAX = 131_072;

/** What no command could be started with would read as a fault of the machine. */
function refuseBadVariables(envVars: SandboxRequest["envVars"]): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(envVars)) {
    bytes += name.length + value.length + 2;
    const isSound = /^[^=\0]+$/.test(name) && !value.includes("\0");
    if (isSound && bytes < VARIABLE_BYTES_MAX) continue;
    const why = isSound ? `and those before it take over ${VARIABLE_BYTES_MAX} bytes` : "is no variable";
    throw new Failure(
      "request_invalid",
      `Sandbox variable ${JSON.stringify(name.slice(0, 64))} ${why}; a name has neither = nor NUL, a value no NUL.`,
    );
  }
}
