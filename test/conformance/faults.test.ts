/**
 * The suite is itself tested: each case, run against the namespace provider with its planted fault, must fail. A case
 * without a fault is an error as well, and so is one that fails for a mistake of the fault's own.
 */
import { afterAll, expect, test } from "vitest";
import { Failure } from "../../src/core/errors.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { type CaseOutcome, type CaseSettings, type ConformanceCase, caseTitle, runCase } from "./case.ts";
import { withFault } from "./fault-hooks.ts";
import { FAULTS, type Fault } from "./faults.ts";
import { SANDBOX_CASES } from "./sandbox-cases.ts";
import { REQUEST } from "./sandbox-parts.ts";
import { SMALL_INTERNET } from "./small-internet.ts";

/** Longer than any case takes to find out. */
const CASE_MS = 180_000;

const provider = namespaceProvider({ runtime: systemRuntime(), proxy: SMALL_INTERNET });
afterAll(() => provider.close());

const idOf = ({ number, part }: ConformanceCase): string => `${number}${part ?? ""}`;
const faultOf = (one: ConformanceCase): Fault | undefined => FAULTS.find(({ breaks }) => breaks === idOf(one));

test("every case has one planted fault, and every fault its case", () => {
  expect(SANDBOX_CASES.filter((one) => faultOf(one) === undefined).map(caseTitle), "cases without a fault").toEqual([]);
  const known = SANDBOX_CASES.map(idOf);
  expect(
    FAULTS.map(({ breaks }) => breaks).filter((id) => !known.includes(id)),
    "faults without a case",
  ).toEqual([]);
  expect(new Set(FAULTS.map(({ breaks }) => breaks)).size).toBe(FAULTS.length);
});

for (const one of SANDBOX_CASES) {
  const fault = faultOf(one);
  if (fault !== undefined)
    test(`${caseTitle(one)}: fails for a provider that ${fault.what}`, async (context) => {
      const outcome = await faultyOutcome(one, fault);
      if (outcome.kind === "skipped") context.skip(outcome.reason);
      expect(outcome.kind, "the case does not notice").toBe("failed");
      if (outcome.kind === "failed") expectNoticed(outcome.error);
    });
}

/** What the case says; afterwards everything it made is destroyed, whatever the fault did to `destroy`. */
async function faultyOutcome(one: ConformanceCase, fault: Fault): Promise<CaseOutcome> {
  const settings: CaseSettings = {
    provider: withFault(provider, fault),
    request: REQUEST,
    expectNoLeaks: async () => undefined,
    eventMs: 3_000,
  };
  const late = Promise.withResolvers<CaseOutcome>();
  const timer = setTimeout(() => late.reject(new Error("The case did not end.")), CASE_MS);
  try {
    return await Promise.race([runCase(one, settings), late.promise]);
  } finally {
    clearTimeout(timer);
    for (const { id } of await provider.list()) await provider.destroy(id);
  }
}

/** An assertion, a named failure or an event that did not come; not a mistake in the planting. */
function expectNoticed(error: unknown): void {
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(TypeError);
  expect(error).not.toBeInstanceOf(ReferenceError);
  if (error instanceof Failure) expect(error.code).not.toBe("unexpected");
}
