/**
 * Plays a stored trajectory's actions again, as they were sampled, and compares what the environment answers with what
 * it answered then. On a deterministic task nothing differs. It asks no model.
 */
import { createHash } from "node:crypto";
import type { Action, Message, State, ToolCall } from "../core/environment.ts";
import type { Policy } from "../core/policy.ts";
import type { StoredTrajectory } from "../core/store.ts";
import type { ToolCallRecord, TurnRecord } from "../core/trajectory.ts";
import { parseArguments } from "./parse-arguments.ts";
import { scriptAction, scriptCall, scriptDescription } from "./script-action.ts";

/** One call that did not end as it had. Times and limits are not compared: they are never equal. */
export interface ReplayDifference {
  /** From 1. */
  readonly turn: number;
  /** Place of the call in its action, from 0. */
  readonly call: number;
  readonly what: "output" | "exit code" | "calls";
  readonly before: string;
  readonly after: string;
}

export interface ReplayOptions {
  readonly onDifference?: (difference: ReplayDifference) => void;
}

/** After the last stored turn it submits, so that an episode which ended by a limit is graded where it ended. */
export function replayPolicy(stored: Pick<StoredTrajectory, "document" | "body">, options: ReplayOptions = {}): Policy {
  const { turns, policy } = stored.document;
  return {
    describe: scriptDescription(policy.name, "replay"),
    version: policy.versionFirst,
    async act(state) {
      const before = turns[state.turn - 1];
      if (before !== undefined) compare(before, state, options);
      const turn = turns[state.turn];
      return turn === undefined ? scriptAction([scriptCall(0, "submit", {})]) : storedAction(turn, stored);
    },
  };
}

/** Calls are taken from the sampled node, so that those which were never run are played as well. */
async function storedAction(turn: TurnRecord, stored: Pick<StoredTrajectory, "document" | "body">): Promise<Action> {
  const node = stored.document.nodes.find((candidate) => candidate.hash === turn.actionNode);
  const body = node === undefined ? "{}" : new TextDecoder().decode(await stored.body(node.body));
  const { calls = [], text = "" } = JSON.parse(body) as Partial<Pick<Action, "calls" | "text">>;
  return {
    ...scriptAction(
      calls.map(({ id, name, argumentsRaw }, index) => {
        const known = turn.toolCalls[index];
        const parsed = known === undefined ? parseArguments(argumentsRaw) : storedArguments(known);
        return { id, name, argumentsRaw, ...parsed };
      }),
      text,
    ),
    sampledTokens: turn.sampledTokens,
  };
}

function storedArguments(call: ToolCallRecord): Pick<ToolCall, "arguments" | "parseError"> {
  return { arguments: call.arguments as ToolCall["arguments"], parseError: call.parseError };
}

function compare(then: TurnRecord, state: State, options: ReplayOptions): void {
  const now = observationsOf(state.messages);
  const tell = (call: number, what: ReplayDifference["what"], before: unknown, after: unknown): void =>
    options.onDifference?.({ turn: then.index, call, what, before: String(before), after: String(after) });
  if (now.length !== then.toolCalls.length) tell(0, "calls", then.toolCalls.length, now.length);
  for (const [index, call] of then.toolCalls.entries()) {
    const seen = now[index]?.observation;
    if (seen === undefined) continue;
    const rawHash = createHash("sha256").update(seen.raw).digest("hex");
    if (rawHash !== call.observation.rawBlob) tell(index, "output", call.observation.rawBlob, rawHash);
    if (seen.exitCode !== call.exitCode) tell(index, "exit code", call.exitCode, seen.exitCode);
  }
}

/** What answered the last action. */
function observationsOf(messages: readonly Message[]) {
  const last = messages.findLastIndex((message) => message.role === "policy");
  return messages.slice(last + 1).filter((message) => message.role === "tool");
}
