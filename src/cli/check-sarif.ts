/**
 * The reports of `sandlot task check` as a SARIF 2.1.0 log (OASIS, 2020), for editors and code review: one rule for
 * each check, one result for each that did not pass, with file and line where they are known.
 */
import type { CheckReport, CheckResult } from "../app.ts";

/** Paths are relative to the working folder, `%SRCROOT%`. */
export function sarifLog(reports: readonly CheckReport[], version: string): object {
  const seen = reports.flatMap(({ checks }) => checks).sort((a, b) => a.number - b.number);
  const rules = seen.filter(({ id }, index) => index === seen.findIndex((other) => other.id === id));
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "sandlot",
            semanticVersion: version,
            rules: rules.map(({ id, number, title, severity }) => ({
              id,
              name: `check ${number}`,
              shortDescription: { text: title },
              defaultConfiguration: { level: severity === "E" ? "error" : "warning" },
            })),
          },
        },
        columnKind: "utf16CodeUnits",
        originalUriBaseIds: { SRCROOT: { description: { text: "The folder that the check was started in." } } },
        results: reports.flatMap((report) => report.checks.flatMap((check) => resultOf(report, check, rules))),
      },
    ],
  };
}

function resultOf(report: CheckReport, check: CheckResult, rules: readonly CheckResult[]): readonly object[] {
  const { status, severity, id, evidence, waiver, isBroken } = check;
  if (status === "pass" || status === "skip") return [];
  const level = status === "not-assessed" ? (isBroken ? "error" : "note") : severity === "E" ? "error" : "warning";
  return [
    {
      ruleId: id,
      ruleIndex: rules.findIndex((rule) => rule.id === id),
      kind: status === "fail" ? "fail" : "open",
      // The standard allows a level other than none only where the kind is fail.
      level: status === "fail" ? level : "none",
      message: { text: `${report.key}: ${evidence}` },
      locations: [
        { ...placeOf(report, check), logicalLocations: [{ fullyQualifiedName: report.key, kind: "module" }] },
      ],
      ...(waiver === null ? {} : { suppressions: [{ kind: "inSource", justification: waiver }] }),
    },
  ];
}

function placeOf(report: CheckReport, { file, line }: CheckResult): object {
  const path = file ?? report.folder;
  if (path === null) return {};
  const isAbsolute = path.startsWith("/");
  const uri = path.split("/").map(encodeURIComponent).join("/");
  const artifactLocation = isAbsolute ? { uri: `file://${uri}` } : { uri, uriBaseId: "SRCROOT" };
  return { physicalLocation: { artifactLocation, ...(line === null ? {} : { region: { startLine: line } }) } };
}
