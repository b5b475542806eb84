/**
 * From the report of a runner to the results of a task's tests: the manifest alone says which tests there are. An entry
 * may stand for all parameters of a test (`test_mean` for `test_mean[1]`, `test_mean[2]`), or for a test by its own name in
 * whatever suites it stands (`adds` for `cart > adds`): it is what they did together.
 */
import type { TestsVerifierSpec } from "../core/task.ts";
import type { TestResult, TestStatus } from "../core/verifier.ts";
import type { Report, ReportedTest } from "./report-frames.ts";
import type { Graded } from "./template.ts";

const DETAIL_CHARACTERS_MAX = 2_048;
const NOT_REPORTED = "the runner did not report this test";

/** One result for each test of the manifest; what is not in it is listed apart and counts for nothing. */
export function manifestResults(spec: TestsVerifierSpec, report: Report): Pick<Graded, "tests" | "extraTests"> {
  const expected = new Set(spec.manifest.map((entry) => entry.id));
  const visibilities = new Map(spec.tiers.map((tier) => [tier.name, tier.visibility]));
  const reported = Map.groupBy(report.tests, (test) => entryOf(test.id, expected));
  const tests = spec.manifest.map(({ id, tier }, index): TestResult => {
    const found = together(reported.get(id) ?? []);
    const notes = report.logs.filter((log) => index === 0 || (found.status === "missing" && isOfFile(log, id)));
    const detail = [found.detail, ...notes].filter((text) => text !== "").join("\n");
    const visibility = visibilities.get(tier) ?? "hidden";
    return { id, tier, visibility, ...found, detail: detail.slice(0, DETAIL_CHARACTERS_MAX) };
  });
  return { tests, extraTests: (reported.get(null) ?? []).map((test) => test.id) };
}

/** The entry a reported test belongs to: its own, or one without its parameters or its suites; null when there is none. */
function entryOf(id: string, expected: ReadonlySet<string>): string | null {
  if (expected.has(id)) return id;
  // Parameters may hold brackets of their own, the name before them cannot.
  const bare = id.endsWith("]") ? id.slice(0, id.indexOf("[")) : id;
  const leaf = id.replace(/::.* > /, "::");
  return [bare, leaf].find((entry) => expected.has(entry)) ?? null;
}

/** All must have passed; the first that has not says how. */
function together(tests: readonly ReportedTest[]): Pick<TestResult, "status" | "durationMs" | "detail"> {
  const first = tests.find((test) => test.status !== "passed") ?? tests[0];
  if (first === undefined) return { status: "missing", durationMs: 0, detail: NOT_REPORTED };
  const status: TestStatus = first.status;
  const durationMs = tests.reduce((sum, test) => sum + test.durationMs, 0);
  const isOneOfSeveral = tests.length > 1 && status !== "passed";
  return { status, durationMs, detail: isOneOfSeveral ? `${first.id}: ${first.detail}` : first.detail };
}

/** The runner begins a note with the file it is about. */
function isOfFile(log: string, id: string): boolean {
  return log.startsWith(`${id.split("::", 1)[0]}: `);
}
