/** The leak check sees: each kind of thing a live sandbox has is found by name, and gone with it. */
import { closeSync, openSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";
import { NEVER } from "./abuse-parts.ts";
import { scanLeaks } from "./leak-scan.ts";
import { expectNoLeaks, isHelperItself, leakBaseline } from "./leaks.ts";

const provider = namespaceProvider({ runtime: systemRuntime() });
afterAll(() => provider.close());

test("what a sandbox has is found: processes, groups, network namespace, descriptors; with its end it is gone", async () => {
  await (await provider.create(REQUEST, NEVER)).destroy();
  const scope = { descriptors: true };
  const before = await leakBaseline(scope);
  const sandbox = await provider.create(REQUEST, NEVER);
  await sandbox.exec("setsid sleep 981 & true", OPTIONS);
  const found = [...scanLeaks(scope)].filter((item) => !before.has(item));
  for (const kind of [
    /^process \d+ sandlot-agent$/,
    /^process \d+$/,
    /^group .+\/sandlot-[0-9a-f-]+\/[^/]+$/,
    /^network namespace net:/,
    /^descriptor socket #/,
    /^descriptor of helper \d+ /,
  ])
    expect(
      found.some((item) => kind.test(item)),
      `${kind} among ${found.join(", ")}`,
    ).toBe(true);
  await sandbox.destroy();
  await expectNoLeaks(before, () => false, scope);
});

test("a descriptor that is not closed is a leak", async () => {
  const before = await leakBaseline({ descriptors: true });
  const fd = openSync("/dev/null", "r");
  const found = [...scanLeaks({ descriptors: true })].filter((item) => !before.has(item));
  closeSync(fd);
  expect(found.filter((item) => !isHelperItself(item))).toEqual([
    expect.stringMatching(/^descriptor \/dev\/null #\d+$/),
  ]);
});
