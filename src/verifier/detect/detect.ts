/**
 * All detectors over one episode. Each is pure over the stored record, so that the same findings come out of an old
 * episode; one that throws is left out and named, and never takes the others with it.
 */
import type { DetectEpisode, Detector } from "../../core/detector.ts";
import type { Finding } from "../../core/finding.ts";
import { CODE_SMELLS } from "./code-smells.ts";
import { HISTORY_MINING } from "./history-mining.ts";
import { LITERAL_ANSWERS } from "./literal-answers.ts";
import { PLANTED_FILES } from "./planted-files.ts";
import { SQL_ARTIFACTS } from "./sql-artifacts.ts";
import { TRACE_EVIDENCE } from "./trace-evidence.ts";
import { VISIBLE_TESTS } from "./visible-tests.ts";
import { WEAK_SIGNS } from "./weak-signs.ts";

/** Every detector of one episode, tiers A to C. */
export const ALL_DETECTORS: readonly Detector[] = [
  ...PLANTED_FILES,
  ...VISIBLE_TESTS,
  ...TRACE_EVIDENCE,
  ...HISTORY_MINING,
  ...CODE_SMELLS,
  ...LITERAL_ANSWERS,
  ...SQL_ARTIFACTS,
  ...WEAK_SIGNS,
];

/** Pure: equal records, equal findings, in the order of the detectors. */
export function detectEpisode(detectors: readonly Detector[] = ALL_DETECTORS): DetectEpisode {
  return (input) => {
    const findings: Finding[] = [];
    const failed: string[] = [];
    for (const one of detectors) {
      try {
        findings.push(...one.detect(input));
      } catch (error) {
        failed.push(`${one.name}: ${String(error).slice(0, 200)}`);
      }
    }
    return { findings, failed };
  };
}
