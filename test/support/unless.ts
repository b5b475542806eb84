/**
 * Tests of what a machine may lack. They are never left out silently: shown as skipped with the reason, which
 * `npm test` lists at its end.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { beforeEach, describe, type TestContext, test } from "vitest";

/** Why a part is not there; null when it is. Sandboxes of the image `host` see the machine's own system folders. */
export const MISSING = {
  bubblewrap: because(spawnSync("bwrap", ["--version"], { stdio: "ignore" }).status !== 0, "bubblewrap"),
  gcc: because(!existsSync("/usr/bin/gcc"), "gcc"),
  node: because(!existsSync("/usr/bin/node") && !existsSync("/usr/local/bin/node"), "Node.js for sandboxes (nodejs)"),
  postgresql: because(!existsSync("/usr/lib/postgresql"), "PostgreSQL (postgresql)"),
  pytest: because(!existsSync("/usr/lib/python3/dist-packages/pytest"), "pytest (python3-pytest)"),
  root: process.geteuid?.() === 0 ? null : "only root can set this up",
} as const;

function because(isMissing: boolean, what: string): string | null {
  return isMissing ? `this machine has no ${what}` : null;
}

/** Declares a test, shown as skipped for `reason` unless that is null. */
export function testUnless(reason: string | null) {
  return (title: string, run: (context: TestContext) => Promise<void> | void, timeoutMs?: number): void =>
    test(title, (context) => (reason === null ? run(context) : context.skip(reason)), timeoutMs);
}

/** Declares a group of tests, each shown as skipped for `reason` unless that is null. Its other hooks run all the same. */
export function describeUnless(reason: string | null) {
  return (title: string, declare: () => void): void => {
    describe(title, () => {
      beforeEach((context) => {
        if (reason !== null) context.skip(reason);
      });
      declare();
    });
  };
}
