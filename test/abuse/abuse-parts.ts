/**
 * Frame of an abuse case: a provider of its own, the abused sandbox beside a sibling that must not notice, and the global
 * leak check after the last sandbox is gone.
 */
import { expect } from "vitest";
import type { Sandbox, SandboxRequest } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { OPTIONS, REQUEST, text } from "../conformance/sandbox-parts.ts";
import { expectNoLeaks, isHelperItself, leakBaseline } from "./leaks.ts";

export const NEVER = new AbortController().signal;

/** Runs `abuse` while a sibling works on; then both are destroyed and nothing may be left. */
export async function beside(
  abuse: (sandbox: Sandbox) => Promise<void>,
  request: Partial<SandboxRequest> = {},
): Promise<void> {
  const baseline = await leakBaseline();
  const provider = namespaceProvider({ runtime: systemRuntime() });
  try {
    const sandbox = await provider.create({ ...REQUEST, ...request }, NEVER);
    const sibling = await provider.create(REQUEST, NEVER);
    await sibling.exec("echo mine > /tmp/mine; sleep 986 & true", OPTIONS);
    let isOver = false;
    const working = work(sibling, () => isOver);
    working.catch(() => undefined);
    await abuse(sandbox).finally(() => {
      isOver = true;
    });
    await working;
    const state = await sibling.exec("cat /tmp/mine; pgrep -c sleep", OPTIONS);
    expect(text(state.stdout)).toBe("mine\n1\n");
    await sandbox.destroy();
    await sibling.destroy();
    await expectNoLeaks(baseline, isHelperItself);
  } finally {
    await provider.close();
  }
  await expectNoLeaks(baseline);
}

/** The sibling's own commands, one after the other, each of which must go as if it were alone. */
async function work(sibling: Sandbox, isOver: () => boolean): Promise<void> {
  for (let round = 0; round === 0 || !isOver(); round += 1) {
    const result = await sibling.exec(`echo ${round}`, OPTIONS);
    expect([result.verdict, text(result.stdout), result.oomKilled]).toEqual(["exited", `${round}\n`, false]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
