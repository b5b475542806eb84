/** A request that no provider could keep is refused before anything is made, naming what is wrong with it. */
import { expect, test } from "vitest";
import { requestFor } from "./bench/contender.ts";
import { refuseInvalid, refuseTooWeak } from "./request-check.ts";

const REQUEST = requestFor("host");

test("more isolation than offered is refused, as much or less is not", () => {
  const wanting = (isolationMin: typeof REQUEST.isolationMin) => () =>
    refuseTooWeak({ ...REQUEST, isolationMin }, "namespace", "this provider");
  for (const level of ["process", "namespace"] as const) expect(wanting(level)).not.toThrow();
  for (const level of ["gvisor", "vm"] as const) {
    expect(wanting(level)).toThrow(expect.objectContaining({ code: "isolation_too_weak" }));
    expect(wanting(level)).toThrow(`Isolation "${level}" was asked for; this provider gives "namespace".`);
  }
});

test("limits and times that are no limits are refused by name", () => {
  expect(() => refuseInvalid({ ...REQUEST, limits: { ...REQUEST.limits, cpus: 0.5 } })).not.toThrow();
  expect(() => refuseInvalid({ ...REQUEST, idleMs: 1 })).not.toThrow();
  const wrong: [string, Partial<typeof REQUEST>][] = [
    ["cpus must be a positive number, not 0", { limits: { ...REQUEST.limits, cpus: 0 } }],
    ["memoryBytes must be a positive whole number, not 1.5", { limits: { ...REQUEST.limits, memoryBytes: 1.5 } }],
    ["filesMax must be a positive whole number, not Infinity", { limits: { ...REQUEST.limits, filesMax: 1 / 0 } }],
    ["cpus must be at most 8192, not 1000000000", { limits: { ...REQUEST.limits, cpus: 1e9 } }],
    ["memoryBytes must be at most 9007199254740991", { limits: { ...REQUEST.limits, memoryBytes: 1e300 } }],
    ["processesMax must be at most 4194304, not 5000000", { limits: { ...REQUEST.limits, processesMax: 5e6 } }],
    ["lifetimeMs must be positive, not -1", { lifetimeMs: -1 }],
    ["idleMs must be positive, not NaN", { idleMs: Number.NaN }],
    ['variable "A=B" is no variable', { envVars: { "A=B": "x" } }],
    ['variable "A" is no variable', { envVars: { A: "x\0y" } }],
    ['variable "B" and those before it take over 131072 bytes', { envVars: { A: "x", B: "y".repeat(131_072) } }],
  ];
  for (const [message, change] of wrong) {
    expect(() => refuseInvalid({ ...REQUEST, ...change })).toThrow(message);
    expect(() => refuseInvalid({ ...REQUEST, ...change })).toThrow(
      expect.objectContaining({ code: "request_invalid" }),
    );
  }
});
