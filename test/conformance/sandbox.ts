/**
 * The suite every sandbox provider passes, one vitest test per case. A case the provider keeps must pass; a number of
 * its `capabilities.unsupported` is run as well and must fail, so that the list can neither hide a fault nor grow old.
 * After each case the leak check runs. Cases need `sh`, `bash`, `python3` and the users `agent`, `verifier` and
 * `subject` in the image.
 */
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import type { SandboxProvider, SandboxRequest } from "../../src/core/sandbox.ts";
import { type CaseOutcome, type CaseSettings, caseTitle, type LeakCheck, runCase, runUnsupported } from "./case.ts";
import { HELD_ELSEWHERE, SANDBOX_CASES } from "./sandbox-cases.ts";
import { REQUEST } from "./sandbox-parts.ts";

export type CreateProvider = () => SandboxProvider | Promise<SandboxProvider>;

export interface SandboxConformanceOptions {
  /** The provider's own image for the cases; default `host`. */
  readonly image?: string;
  /** Other changes of the request every case makes, such as a weaker `isolationMin`. */
  readonly request?: Partial<SandboxRequest>;
  /** Default: the provider lists no sandbox. Give one that also asks the machine. */
  readonly leakCheck?: LeakCheck;
  /** Why this machine cannot run the provider at all; every case is then shown as skipped. */
  readonly skip?: string | null;
}

/** A case's own time limit; its waits for events are shorter. `npm run test:long` gives more. */
const CASE_MS = process.env["SANDLOT_TEST_SIZE"] === "long" ? 600_000 : 180_000;

/**
 * A case that waits ten seconds for an event can starve once on a machine that others use; what fails twice fails. The
 * reporter marks a case that needed the second try.
 */
const CASE = { timeout: CASE_MS, retry: 1 };

/** Declares all cases for one provider, inside the caller's test file. The provider is opened once, and closed. */
export function sandboxConformance(createProvider: CreateProvider, options: SandboxConformanceOptions = {}): void {
  if (typeof options.skip === "string") {
    declareSkipped(options.skip);
    return;
  }
  describe("sandbox conformance", async () => {
    const provider = await createProvider();
    const { unsupported } = provider.capabilities;
    let expectNoLeaks = async (): Promise<void> => undefined;
    const request = {
      ...REQUEST,
      ...options.request,
      ...(options.image === undefined ? {} : { image: options.image }),
    };
    const settings: CaseSettings = { provider, request, expectNoLeaks: () => expectNoLeaks() };
    beforeAll(async () => {
      expectNoLeaks = await (options.leakCheck ?? listsNone)(provider, request);
    });
    afterAll(() => provider.close());

    test("every number said to be unsupported is one of the suite, and says why", () => {
      for (const [number, reason] of Object.entries(unsupported)) {
        expect(reason.trim(), `case ${number}`).not.toBe("");
        const isKnown = Number(number) in HELD_ELSEWHERE || SANDBOX_CASES.some((one) => one.number === Number(number));
        expect(isKnown, `case ${number}`).toBe(true);
      }
    });
    for (const one of SANDBOX_CASES)
      if (unsupported[one.number] === undefined)
        test(caseTitle(one), CASE, (context) => expectPassed(runCase(one, settings), context));
    for (const [number, reason] of Object.entries(unsupported)) {
      const parts = SANDBOX_CASES.filter((one) => one.number === Number(number));
      if (parts.length > 0)
        test(`${number}. unsupported: ${reason}`, CASE, (context) =>
          expectPassed(runUnsupported(parts, settings), context),
        );
    }
  });
}

async function expectPassed(running: Promise<CaseOutcome>, context: TestContext): Promise<void> {
  const outcome = await running;
  if (outcome.kind === "failed") throw outcome.error;
  if (outcome.kind === "skipped") context.skip(outcome.reason);
}

function declareSkipped(reason: string): void {
  describe("sandbox conformance", () => {
    for (const one of SANDBOX_CASES) test(caseTitle(one), (context) => context.skip(reason));
  });
}

const listsNone: LeakCheck = async (provider) => {
  const before = (await provider.list()).map(({ id }) => id);
  return async () => {
    const left = (await provider.list()).filter(({ id }) => !before.includes(id));
    expect(left, "sandboxes left behind").toEqual([]);
  };
};
