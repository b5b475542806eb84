/** How a case is run: what passes, what fails, what is skipped, and what a list of unsupported numbers must prove. */
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/core/sandbox.ts";
import { fakeProvider } from "../../src/sandbox/fake-sandbox.ts";
import { type CaseSettings, type ConformanceCase, runCase, runUnsupported } from "./case.ts";
import { OPTIONS, REQUEST } from "./sandbox-parts.ts";

const settings = (change: Partial<CaseSettings> = {}): CaseSettings => ({
  provider: fakeProvider(),
  request: REQUEST,
  expectNoLeaks: async () => undefined,
  eventMs: 30,
  ...change,
});

const caseOf = (run: ConformanceCase["run"]): ConformanceCase => ({ number: 1, title: "a case", run });
const passing = caseOf(async (boxes) => {
  await boxes.with((sandbox) => sandbox.exec("true", OPTIONS));
});
const failing = caseOf(async (boxes) => {
  await boxes.with(async () => {
    throw new Error("not kept");
  });
});
const skipping = caseOf(async (boxes) => boxes.skip("no compiler"));

test("a case passes, fails or is skipped with its reason, and what it made is gone in each way", async () => {
  const at = settings();
  expect(await runCase(passing, at)).toEqual({ kind: "passed" });
  expect(await runCase(failing, at)).toMatchObject({ kind: "failed", error: { message: "not kept" } });
  expect(await runCase(skipping, at)).toEqual({ kind: "skipped", reason: "no compiler" });
  const forgetting = caseOf(async (boxes) => {
    const sandbox: Sandbox = await boxes.create();
    await sandbox.fork(2);
    throw new Error("half-way");
  });
  expect(await runCase(forgetting, at)).toMatchObject({ kind: "failed" });
  expect(await at.provider.list()).toEqual([]);
});

test("a leak fails a case that passed, and an event that does not come is named", async () => {
  const leaking = async (): Promise<void> => {
    throw new Error("one process is left");
  };
  expect(await runCase(passing, settings({ expectNoLeaks: leaking }))).toMatchObject({
    kind: "failed",
    error: { message: "one process is left" },
  });
  const waiting = caseOf((boxes) => boxes.until("the moon is blue", () => false));
  expect(await runCase(waiting, settings())).toMatchObject({
    kind: "failed",
    error: { message: expect.stringContaining("the moon is blue") },
  });
});

test("a number said to be unsupported is proven by one failing case, and refused when all pass", async () => {
  expect(await runUnsupported([failing], settings())).toEqual({ kind: "passed" });
  expect(await runUnsupported([passing, failing], settings())).toEqual({ kind: "passed" });
  expect(await runUnsupported([passing], settings())).toMatchObject({
    kind: "failed",
    error: { message: expect.stringContaining("Newly passing: 1. a case") },
  });
  expect(await runUnsupported([passing, skipping], settings())).toEqual({ kind: "skipped", reason: "no compiler" });
});
