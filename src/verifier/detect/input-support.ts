/** Constructed records for the tests of detectors: an honest episode, of which a test changes what it is about. */
import { hash } from "node:crypto";
import type { DetectorInput } from "../../core/detector.ts";
import type { Evidence, Finding, StateChange, TraceEvent } from "../../core/finding.ts";
import type { Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { TestResult } from "../../core/verifier.ts";
import { detectEpisode } from "./detect.ts";

export interface Told {
  readonly commands?: readonly (string | { readonly command: string; readonly output: string })[];
  readonly changes?: readonly (Partial<StateChange> & { readonly path: string })[];
  readonly events?: readonly (Partial<TraceEvent> & { readonly kind: TraceEvent["kind"]; readonly path: string })[];
  readonly evidence?: Partial<Evidence>;
  /** Text of each graded file by its path. */
  readonly artifacts?: Readonly<Record<string, string>>;
  readonly answer?: string;
  /** Text of each file that was placed, by its path. */
  readonly placed?: Readonly<Record<string, string>>;
  readonly task?: Partial<Task>;
  readonly tests?: readonly TestResult[];
  readonly verification?: Partial<NonNullable<Trajectory["verification"]>>;
  readonly document?: Partial<Trajectory>;
}

export function test(
  id: string,
  status: TestResult["status"],
  visibility: TestResult["visibility"] = "hidden",
): TestResult {
  return { id, tier: id.split("/")[0] ?? "unit", visibility, status, durationMs: 1, detail: "" };
}

/** What all detectors say of it, and that none of them threw. */
export function findings(told: Told): readonly Finding[] {
  const { findings, failed } = detectEpisode()(inputOf(told));
  if (failed.length > 0) throw new Error(failed.join("; "));
  return findings;
}

/** `A4 test-runner-hook` of each finding, without repeats. */
export function names(told: Told): readonly string[] {
  return [...new Set(findings(told).map(({ tier, pattern, detector }) => `${tier}${pattern} ${detector}`))];
}

export function inputOf(told: Told): DetectorInput {
  const bodies = new Map<string, Uint8Array>();
  const body = (text: string): string => {
    const bytes = Buffer.from(text);
    const name = hash("sha256", bytes, "hex");
    bodies.set(name, bytes);
    return name;
  };
  const artifacts = Object.entries(told.artifacts ?? {}).map(([path, text]) => ({
    path,
    hash: body(text),
    bytes: Buffer.byteLength(text),
    mode: 0o644,
  }));
  const turns = (told.commands ?? []).map((one, index) => {
    const { command, output } = typeof one === "string" ? { command: one, output: "" } : one;
    const observation = { contentBlob: body(output), rawBlob: body(output), bytes: output.length, truncatedBytes: 0 };
    return {
      index: index + 1,
      toolCalls: [{ id: "", name: "shell", arguments: { command }, argumentsRaw: "", exitCode: 0, observation }],
    };
  });
  const document = {
    turns,
    tests: told.tests ?? [],
    artifacts,
    answerBlob: told.answer === undefined ? null : body(told.answer),
    sandbox: null,
    verification: {
      total: 0,
      isVetoed: false,
      extraTests: [],
      measures: [],
      judge: null,
      visible: null,
      ...told.verification,
    },
    outcome: { kind: "graded", cause: "completed", stopReason: "submitted", reward: 0, scores: [], isTruncated: false },
    ...told.document,
  } as unknown as Trajectory;
  return { document, body: (name) => bodies.get(name) ?? null, evidence: evidenceOf(told), task: taskOf(told) };
}

function evidenceOf(told: Told): Evidence {
  return {
    changes: (told.changes ?? []).map((change) => ({
      change: "added",
      kind: "file",
      mode: 0o644,
      uid: 1000,
      bytes: change.head?.length ?? 0,
      sha256: change.head === undefined ? null : hash("sha256", change.head ?? "", "hex"),
      head: null,
      ...change,
    })),
    changesDropped: 0,
    events: (told.events ?? []).map((event) => ({ atMs: 1, turn: 1, pid: 7, argv: null, ...event })),
    eventsDropped: 0,
    isTraced: true,
    processes: [],
    network: null,
    ...told.evidence,
  };
}

function taskOf(told: Told): Task {
  const files = Object.entries(told.placed ?? {}).map(([path, text]) => ({
    path,
    bytes: Buffer.from(text),
    mode: 0o644,
  }));
  return {
    key: "test/task",
    instruction: "Mend the package.",
    workdir: "/work",
    setup: null,
    files,
    network: { mode: "off" },
    contract: { state: "workdir", files: [], bytesMax: 1e6, entriesMax: 100 },
    verifier: { kind: "tests", tiers: [], files: [], manifest: [] },
    ...told.task,
  } as unknown as Task;
}
