/**
 * A vitest reporter that counts: how many tests passed, failed and were skipped, and why each was skipped. It writes
 * JSON to `SANDLOT_TEST_REPORT`; `scripts/start.mjs` prints it after everything else, so the count is the last line.
 * A file that cannot be loaded and an error outside any test count as failures, so that they can never read as green.
 */
import { writeFileSync } from "node:fs";

export default class TestSummary {
  onTestRunEnd(testModules, unhandledErrors) {
    const report = { passed: 0, failed: unhandledErrors.length, skipped: [], failures: [], secondTries: [] };
    for (const error of unhandledErrors) report.failures.push(`outside any test: ${error.message}`);
    for (const testModule of testModules) this.#count(testModule, report);
    const file = process.env.SANDLOT_TEST_REPORT;
    if (file) writeFileSync(file, JSON.stringify(report));
  }

  #count(testModule, report) {
    const name = testModule.relativeModuleId;
    let failedTests = 0;
    for (const testCase of testModule.children.allTests()) {
      const { state, note } = testCase.result();
      const title = `${name}: ${testCase.fullName}`;
      if (state === "passed") report.passed += 1;
      if (state === "passed" && (testCase.diagnostic()?.retryCount ?? 0) > 0) report.secondTries.push(title);
      if (state === "passed") continue;
      if (state === "skipped") report.skipped.push({ title, reason: note ?? null });
      else {
        failedTests += 1;
        report.failures.push(title);
      }
    }
    // A failing import or hook leaves the file failed without a failed test in it.
    if (testModule.state() === "failed" && failedTests === 0) {
      failedTests = 1;
      report.failures.push(`${name}: ${testModule.errors()[0]?.message.split("\n")[0] ?? "the file failed"}`);
    }
    report.failed += failedTests;
  }
}
