/**
 * The suite's cases against a helper built with the address and undefined-behaviour sanitizers. A report ends the process
 * it is about: the agent's end loses the sandbox, a child's end spoils its command, and the case fails.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SandboxProvider } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { type CaseContext, caseTitle, runCase } from "../conformance/case.ts";
import { SANDBOX_CASES } from "../conformance/sandbox-cases.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";
import { SMALL_INTERNET } from "../conformance/small-internet.ts";

const HELPER = join(import.meta.dirname, "../../native/helper");
const FLAGS = [
  "-std=gnu11",
  "-g",
  "-O1",
  "-fno-omit-frame-pointer",
  "-fsanitize=address,undefined",
  "-fno-sanitize-recover=all",
];
/** Of limits, what a larger agent would change; of speed, what would only take long; and what makes no sandbox. */
const LEFT_OUT: readonly number[] = [7, 8, 9, 10, 16, 19, 20, 22, 23, 25, 27, 28, 29, 30, 60, 63, 64, 65, 67, 68];

const folder = mkdtempSync(join(tmpdir(), "sandlot-sanitized-"));
let provider: SandboxProvider | null = null;

/** Null, or why this machine has no sanitizers. */
const whyNot = ((): string | null => {
  if (process.platform !== "linux") return "the helper is for Linux";
  const source = join(folder, "probe.c");
  writeFileSync(source, "int main(void) { return 0; }\n");
  const built = spawnSync("clang", ["-fsanitize=address,undefined", source, "-o", join(folder, "probe")]);
  return built.status === 0 ? null : "there is no clang with sanitizers";
})();

beforeAll(() => {
  if (whyNot !== null) return;
  const sources = readdirSync(HELPER).filter((name) => name.endsWith(".c"));
  const paths = [...sources, "test/sanitizer-options.c"].map((name) => join(HELPER, name));
  execFileSync("clang", [...FLAGS, ...paths, "-o", join(folder, "helper")]);
  provider = namespaceProvider({
    runtime: systemRuntime(),
    helperPath: join(folder, "helper"),
    proxy: SMALL_INTERNET,
  });
});

afterAll(async () => {
  await provider?.close();
  rmSync(folder, { recursive: true, force: true });
});

const expectNoLeaks = async (): Promise<void> => undefined;

for (const one of SANDBOX_CASES.filter(({ number }) => !LEFT_OUT.includes(number)))
  test(caseTitle(one), async (context) => {
    if (provider === null) return context.skip(whyNot ?? "not built");
    const outcome = await runCase(one, { provider, request: REQUEST, expectNoLeaks });
    if (outcome.kind === "skipped") context.skip(outcome.reason);
    if (outcome.kind === "failed") throw outcome.error;
  });

test("the helper of these cases has its sanitizers", async (context) => {
  if (provider === null) return context.skip(whyNot ?? "not built");
  const run = async ({ with: withSandbox }: CaseContext): Promise<void> =>
    withSandbox(async (sandbox) => {
      expect((await sandbox.exec("true", OPTIONS)).exitCode).toBe(0);
    });
  expect((await runCase({ number: 0, title: "runs", run }, { provider, request: REQUEST, expectNoLeaks })).kind).toBe(
    "passed",
  );
  expect(execFileSync("nm", [join(folder, "helper")], { encoding: "utf8", maxBuffer: 64 << 20 })).toContain(
    "__asan_report_load8",
  );
});
