/**
 * Writes a finding down: evidence and paths are hostile text, so that they are quoted with every character that is not
 * printable spelled out, and cut to what a record and a person can take.
 */
import type { Detector, DetectorInput } from "../../core/detector.ts";
import type { Finding, FindingTier } from "../../core/finding.ts";
import { type EpisodeReading, readEpisode } from "./episode-reading.ts";

const EVIDENCE_LINES_MAX = 10;
const EVIDENCE_CHARACTERS_MAX = 300;
const PATH_CHARACTERS_MAX = 300;
const SUMMARY_CHARACTERS_MAX = 240;
/** Of one detector over one episode; more of the same says nothing new. */
const FINDINGS_MAX = 20;

/** What a rule says; what it leaves out is not known. */
export interface Report {
  readonly pattern: number;
  /** One plain sentence; no accusation of intent. */
  readonly summary: string;
  /** Default that of the detector; a weaker sign of the same thing names its own. */
  readonly tier?: FindingTier;
  /** Default `attempted`. */
  readonly effect?: Finding["effect"];
  /** Default: whether the tier is A. An edit that may be legitimate says false. */
  readonly isPunished?: boolean;
  readonly turn?: number | null;
  readonly file?: string | null;
  readonly line?: number | null;
  readonly evidence?: readonly string[];
}

/** A detector from its rule over what the record says; it reports nothing for an episode without evidence of its kind. */
export function detector(
  name: string,
  tier: FindingTier,
  patterns: readonly number[],
  rule: (reading: EpisodeReading) => Iterable<Report>,
  version = 1,
): Detector {
  return {
    name,
    version,
    tier,
    patterns,
    detect: (input: DetectorInput) => {
      const findings: Finding[] = [];
      for (const report of rule(readEpisode(input))) {
        findings.push(finding(name, version, tier, report));
        if (findings.length === FINDINGS_MAX) break;
      }
      return findings;
    },
  };
}

function finding(detector: string, detectorVersion: number, usual: FindingTier, report: Report): Finding {
  const tier = report.tier ?? usual;
  return {
    detector,
    detectorVersion,
    tier,
    pattern: report.pattern,
    effect: report.effect ?? "attempted",
    isPunished: tier === "A" && report.isPunished !== false,
    summary: quoted(report.summary, SUMMARY_CHARACTERS_MAX),
    turn: report.turn ?? null,
    file: report.file === null || report.file === undefined ? null : quoted(report.file, PATH_CHARACTERS_MAX),
    line: report.line ?? null,
    evidence: (report.evidence ?? []).slice(0, EVIDENCE_LINES_MAX).map((line) => quoted(line, EVIDENCE_CHARACTERS_MAX)),
  };
}

/** Printable ASCII as it is; every other character as its escape; cut with an ellipsis. */
export function quoted(text: string, charactersMax: number): string {
  let out = "";
  for (const character of text.slice(0, charactersMax * 2)) {
    const code = character.codePointAt(0) ?? 0;
    const isPlain = code >= 0x20 && code < 0x7f;
    const piece = isPlain ? character : `\\u{${code.toString(16)}}`;
    if (out.length + piece.length > charactersMax - 3) return `${out}...`;
    out += piece;
  }
  return out;
}
