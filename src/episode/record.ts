/**
 * Builds the record an episode leaves from the log of its turns: bodies named by their hash, a chain of message nodes,
 * one row per turn and call, the trained tokens, the outcome. Pure but for the clock it is handed. What was shown and
 * what was answered is stored as it was; nothing is repaired here.
 */
import { hash } from "node:crypto";
import type { Action, Observation, Tool } from "../core/environment.ts";
import type { EpisodePlan } from "../core/episode.ts";
import { canonicalJson } from "../core/json.ts";
import type { Outcome } from "../core/outcome.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type {
  ArtifactRecord,
  BodyHash,
  MessageNode,
  ToolCallRecord,
  Trajectory,
  TrajectoryRecord,
  TurnRecord,
} from "../core/trajectory.ts";
import { TRAJECTORY_SCHEMA_VERSION } from "../core/trajectory.ts";
import type { EpisodeEnvironment, TurnLog } from "./environment.ts";
import { tokenSegment } from "./token-segment.ts";

/** What is equal for all episodes of a process. */
export interface RecordContext {
  readonly code: { readonly sandlot: string; readonly commit: string | null };
  readonly toolsHash: string;
  readonly promptHash: string;
}

export function recordContext(
  code: RecordContext["code"],
  tools: readonly Tool[],
  systemText: string | null,
): RecordContext {
  const definitions = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return {
    code,
    toolsHash: hash("sha256", canonicalJson(definitions), "hex"),
    promptHash: hash("sha256", systemText ?? "", "hex"),
  };
}

export interface RecordInput {
  readonly plan: EpisodePlan;
  readonly context: RecordContext;
  readonly environment: EpisodeEnvironment;
  readonly outcome: Outcome;
  /** UTC milliseconds. */
  readonly startedAt: number;
  /** The policy's version when the episode began. */
  readonly versionFirst: number;
}

export function buildRecord(input: RecordInput): TrajectoryRecord {
  const { plan, context, environment, outcome } = input;
  const graph = new MessageGraph();
  const log = [...environment.log];
  for (const message of environment.opening) graph.add(message.role, false, graph.body(message.text));
  const turns = log.map((entry, index) => turnRecord(entry, index + 1, graph, input.versionFirst));
  const segment = tokenSegment(log.map((entry) => entry.action?.tokens ?? null));
  const versions = [input.versionFirst, ...turns.map((turn) => turn.policyVersion)];
  const info = environment.sandbox.info;
  const document: Trajectory = {
    schemaVersion: TRAJECTORY_SCHEMA_VERSION,
    id: plan.episodeId,
    runId: plan.runId,
    groupId: plan.groupId,
    member: plan.member,
    attempt: plan.attempt,
    fence: plan.fence,
    startedAt: input.startedAt,
    task: taskPart(plan),
    agent: {
      name: "sandlot",
      version: context.code.sandlot,
      toolsHash: context.toolsHash,
      promptHash: context.promptHash,
    },
    policy: { ...plan.policy.describe, versionFirst: Math.min(...versions), versionLast: Math.max(...versions) },
    seeds: {
      task: plan.task.generator?.seed ?? "0",
      sampling: String(plan.samplingSeed),
      verifier: String(plan.gradingSeed),
    },
    code: { ...context.code, recipeHash: plan.recipeHash },
    sandbox:
      info === null
        ? null
        : {
            provider: info.provider,
            isolation: info.isolation,
            image: info.image,
            imageHash: info.imageHash,
            limits: info.limits,
            network: info.network,
          },
    turns,
    nodes: graph.nodes,
    branches: graph.leaf === null ? [] : [{ leaf: graph.leaf, reason: "main", trainable: segment !== null }],
    tokens:
      segment === null ? null : { count: segment.ids.length, sampledCount: segment.mask.reduce((a, b) => a + b, 0) },
    outcome,
    tests: environment.verdict?.tests ?? [],
    verification: verificationPart(environment),
    artifacts: artifactRecords(environment.artifacts?.files ?? [], graph),
    answerBlob: environment.answer === null ? null : graph.body(environment.answer),
    collected: collectedPart(environment, graph),
    placed: (plan.extraFiles ?? []).map(({ path }) => path),
    evidenceBlob: environment.evidence === null ? null : graph.body(JSON.stringify(environment.evidence)),
    timing: timingPart(plan, environment, log),
    resource: resourcePart(environment, graph),
    extra: extraPart(environment, log, segment === null),
  };
  return { document, bodies: graph.bodies, segment, findings: [] };
}

function artifactRecords(files: readonly FileContent[], graph: MessageGraph): readonly ArtifactRecord[] {
  return files.map(({ path, bytes, mode }) => ({ path, hash: graph.body(bytes), bytes: bytes.length, mode }));
}

function collectedPart({ artifacts }: EpisodeEnvironment, graph: MessageGraph): Trajectory["collected"] {
  if (artifacts === null) return null;
  const { missing, visible = [], refused = [] } = artifacts;
  return { missing, visible: artifactRecords(visible, graph), refused };
}

function resourcePart(environment: EpisodeEnvironment, graph: MessageGraph): Trajectory["resource"] {
  const { stats, curve } = environment.sandbox;
  if (stats === null) return null;
  return { ...stats, curveBlob: curve === null ? null : graph.body(canonicalJson(curve)) };
}

/** Nodes and bodies as they are added; each node hangs on the one before. */
class MessageGraph {
  readonly nodes: MessageNode[] = [];
  readonly bodies = new Map<BodyHash, Uint8Array>();

  get leaf(): string | null {
    return this.nodes.at(-1)?.hash ?? null;
  }

  body(content: string | Uint8Array): BodyHash {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const name = hash("sha256", bytes, "hex");
    this.bodies.set(name, bytes);
    return name;
  }

  add(role: MessageNode["role"], sampled: boolean, body: BodyHash): string {
    const parent = this.leaf;
    const name = hash("sha256", canonicalJson([parent, role, body]), "hex");
    this.nodes.push({ hash: name, parent, role, sampled, body });
    return name;
  }
}

function turnRecord(entry: TurnLog, index: number, graph: MessageGraph, versionFirst: number): TurnRecord {
  const { action } = entry;
  const text = action?.text ?? entry.partial ?? "";
  const raw = action?.raw ?? entry.partial;
  const actionNode = graph.add("policy", true, graph.body(actionBody(action, text)));
  const observationNodes = entry.observations.map((seen) => graph.add("tool", false, graph.body(seen.text)));
  return {
    index,
    actionNode,
    observationNodes,
    textBlob: graph.body(text),
    responseBlob: raw === null ? null : graph.body(raw),
    toolCalls: entry.observations.map((seen, position) => callRecord(action, position, seen, graph)),
    policyVersion: action?.tokens?.policyVersion ?? versionFirst,
    sampledTokens: action?.sampledTokens ?? 0,
    modelMs: entry.modelMs,
    toolMs: entry.toolMs,
    layerBlob: entry.layer === null ? null : graph.body(entry.layer),
    milestones: entry.milestones,
    budgetLeft: entry.left,
  };
}

/** An action as one text: its words, and its calls exactly as sampled. */
function actionBody(action: Action | null, text: string): string {
  const calls = (action?.calls ?? []).map(({ id, name, argumentsRaw }) => ({ id, name, argumentsRaw }));
  return canonicalJson({ calls, text });
}

function callRecord(action: Action | null, position: number, seen: Observation, graph: MessageGraph): ToolCallRecord {
  const call = action?.calls[position];
  return {
    id: seen.callId,
    name: seen.tool,
    argumentsRaw: call?.argumentsRaw ?? "",
    arguments: call?.arguments ?? null,
    parseError: call?.parseError ?? null,
    observation: {
      contentBlob: graph.body(seen.text),
      rawBlob: graph.body(seen.raw),
      bytes: seen.rawBytes,
      truncatedBytes: seen.bytesLeftOut,
    },
    exitCode: seen.exitCode,
    timedOut: seen.timedOut,
    oomKilled: seen.oomKilled,
    isInvalid: seen.isInvalid,
    durationMs: seen.durationMs,
  };
}

function taskPart(plan: EpisodePlan): Trajectory["task"] {
  const { task, taskSet, split } = plan;
  return {
    key: task.key,
    hash: task.hash,
    agentHash: task.agentHash,
    verifierHash: task.verifierHash,
    taskSet,
    family: task.family,
    split,
    generator: task.generator,
  };
}

function verificationPart(environment: EpisodeEnvironment): Trajectory["verification"] {
  const { verdict, artifacts } = environment;
  if (verdict === null || artifacts === null) return null;
  return {
    identity: verdict.identity,
    total: verdict.total,
    isVetoed: verdict.isVetoed,
    extraTests: verdict.extraTests,
    measures: verdict.measures,
    judge: verdict.judge,
    visible: verdict.visible,
    imageHash: verdict.imageHash,
    artifactsHash: artifacts.hash,
    sandboxIds: verdict.sandboxIds,
    durationMs: verdict.durationMs,
    isReused: verdict.isReused,
  };
}

function timingPart(plan: EpisodePlan, environment: EpisodeEnvironment, log: readonly TurnLog[]): Trajectory["timing"] {
  return {
    ...environment.timing,
    queue: plan.queuedMs,
    boot: environment.sandbox.bootMs,
    setup: environment.sandbox.setupMs,
    model: log.reduce((sum, entry) => sum + entry.modelMs, 0),
    tool: log.reduce((sum, entry) => sum + entry.toolMs, 0),
  };
}

function extraPart(
  environment: EpisodeEnvironment,
  log: readonly TurnLog[],
  hasNoSegment: boolean,
): Record<string, unknown> {
  const extra: Record<string, unknown> = {};
  if (environment.closeFailure !== null) extra["closeFailure"] = environment.closeFailure.message;
  if (hasNoSegment && log.some((entry) => (entry.action?.tokens ?? null) !== null)) extra["tokensDiscontinuous"] = true;
  if (log.some((entry) => entry.action?.isSampledTokensEstimated === true)) extra["sampledTokensEstimated"] = true;
  if (environment.evidenceProblems.length > 0) extra["evidenceProblems"] = environment.evidenceProblems;
  return extra;
}
