/** Every case of the sandbox suite, in the order of its numbers, and where the numbers are held that are not here. */
import { type ConformanceCase, caseTitle } from "./case.ts";
import { FILES_CASES } from "./sandbox-files.ts";
import { IO_CASES } from "./sandbox-io.ts";
import { KERNEL_CASES } from "./sandbox-kernel.ts";
import { LEAKS_CASES } from "./sandbox-leaks.ts";
import { LIMITS_CASES } from "./sandbox-limits.ts";
import { MACHINE_CASES } from "./sandbox-machine.ts";
import { NETWORK_CASES } from "./sandbox-network.ts";
import { POOL_CASES } from "./sandbox-pool.ts";
import { PROCESS_CASES } from "./sandbox-processes.ts";
import { SHELL_CASES } from "./sandbox-shell.ts";
import { SNAPSHOT_CASES } from "./sandbox-snapshot.ts";
import { TERMINAL_CASES } from "./sandbox-terminal.ts";
import { TRACE_CASES } from "./sandbox-trace.ts";

/** Numbers of the sandbox design's list. */
export const CASE_NUMBER_MAX = 68;

/** Numbers that need a whole machine of their own, with the test file that holds them. */
export const HELD_ELSEWHERE: Readonly<Record<number, string>> = {
  16: "test/abuse/host-death.test.ts",
  65: "test/abuse/stale-state.test.ts",
  68: "test/abuse/two-hosts.test.ts",
};

export const SANDBOX_CASES: readonly ConformanceCase[] = inOrder([
  ...PROCESS_CASES,
  ...LIMITS_CASES,
  ...MACHINE_CASES,
  ...IO_CASES,
  ...FILES_CASES,
  ...KERNEL_CASES,
  ...SHELL_CASES,
  ...TERMINAL_CASES,
  ...NETWORK_CASES,
  ...SNAPSHOT_CASES,
  ...LEAKS_CASES,
  ...POOL_CASES,
  ...TRACE_CASES,
]);

function inOrder(cases: readonly ConformanceCase[]): ConformanceCase[] {
  return [...cases].sort((a, b) => a.number - b.number || caseTitle(a).localeCompare(caseTitle(b)));
}
