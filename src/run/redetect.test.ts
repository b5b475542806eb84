/** What is looked for again in the stored episodes of a run: each alone, and all together. Real store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exampleRecord } from "../../test/conformance/store-record.ts";
import type { DetectEpisode } from "../core/detector.ts";
import type { Finding } from "../core/finding.ts";
import type { Store } from "../core/store.ts";
import type { TestResult } from "../core/verifier.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "../store/open-store.ts";
import { runFindings } from "../verifier/detect/run-level.ts";
import { redetect } from "./redetect.ts";

const runtime = systemRuntime();
const VERSIONS = 30;
const MEMBERS = 4;
let folder: string;
let store: Store;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-test-"));
  store = await openStore({ folder, runtime, mode: "owner" });
  await store.createRun({
    ...{ runId: "r", kind: "train", state: "active", name: "t", createdAt: 0, recipeHash: "", config: "{}" },
  });
  await store.acquireRun("r");
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** Episodes whose visible tests all pass; whose hidden test passes where `isHonest` says so. */
async function storeRun(isHonest: (policyVersion: number) => boolean): Promise<void> {
  const groups = Array.from({ length: VERSIONS }, (_, groupNo) => {
    const members = Array.from({ length: MEMBERS }, (_, member) => {
      return { episodeNo: groupNo * MEMBERS + member + 1, member, samplingSeed: "1" };
    });
    const task = { taskKey: "test/sum", taskHash: "t", taskRef: "{}", split: "train" };
    return { groupNo, phase: "train" as const, step: groupNo, gradingSeed: "1", ...task, members };
  });
  await store.plan("r", groups);
  const request = { runId: "r", workerId: "w", episodesMax: VERSIONS * MEMBERS, leaseMs: 60_000 };
  for (const lease of await store.claim(request)) {
    const record = exampleRecord({ lease });
    const policyVersion = lease.groupNo;
    const result = (status: "passed" | "failed", visibility: "hidden" | "visible"): TestResult => {
      return { id: `${visibility}/a`, tier: "unit", visibility, status, durationMs: 1, detail: "" };
    };
    const seen = [result("passed", "visible")];
    const verification = { ...VERIFICATION, visible: { original: seen, asLeft: seen } };
    const document = {
      ...record.document,
      policy: { ...record.document.policy, versionFirst: policyVersion, versionLast: policyVersion },
      tests: [result(isHonest(policyVersion) ? "passed" : "failed", "hidden")],
      verification,
    };
    expect(await store.commit({ lease, record: { ...record, document } })).toBe("accepted");
  }
}

const VERIFICATION = {
  ...{ identity: "i", total: 1, isVetoed: false, extraTests: [], measures: [], judge: null, imageHash: "" },
  ...{ artifactsHash: "", sandboxIds: [], durationMs: 1, isReused: false },
};
const STRONG: Finding = {
  ...{ detector: "visible-gap", detectorVersion: 1, tier: "B", pattern: 25, effect: "attempted", isPunished: false },
  ...{ summary: "passes what it sees and not what it does not", turn: null, file: null, line: null, evidence: [] },
};

/** Finds what passes in sight and fails out of it. */
const detect: DetectEpisode = ({ document }) => {
  return { findings: document.tests.some(({ status }) => status === "failed") ? [STRONG] : [], failed: [] };
};

const again = () =>
  redetect({
    ...{ runId: "r", store, detect, detectRun: runFindings, taskOf: () => null, onDone: () => undefined },
    signal: new AbortController().signal,
  });

test("a run in which tricks take the place of work raises an alert of tier D that names the signals", async () => {
  await storeRun((policyVersion) => policyVersion < VERSIONS / 2);
  const { alerts, added, heldBack } = await again();
  expect({ added, heldBack: heldBack.length }).toEqual({ added: 60, heldBack: 60 });
  expect(alerts).toMatchObject([{ tier: "D", detector: "reward-hacking-trend", isPunished: false }]);
  expect(alerts[0]?.evidence.join("\n")).toMatch(/^gap: .*\nstrong-findings: /);
});

test("findings that a person has cleared are no part of an alert", async () => {
  await storeRun((policyVersion) => policyVersion < VERSIONS / 2);
  await again();
  const decided = { decision: "detector-defect", author: "a", reason: "b" } as const;
  for (const { findingId } of await store.findings({ runId: "r" })) await store.review(findingId, decided);
  expect((await again()).alerts).toEqual([]);
});

test("a run of honest work raises no alert", async () => {
  await storeRun(() => true);
  expect(await again()).toMatchObject({ alerts: [], added: 0, byDetector: [] });
});
