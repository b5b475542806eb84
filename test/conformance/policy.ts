/**
 * What every Policy must hold: it answers any state with a well-formed action, changes nothing it was shown, keeps
 * concurrent episodes apart, and ends at once when it is given up. Call `policyConformance("mine", make)` inside a
 * vitest file; `make` opens one policy and says how to be rid of it.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Action, Message, State } from "../../src/core/environment.ts";
import { toFailure } from "../../src/core/errors.ts";
import type { Policy } from "../../src/core/policy.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";

export interface OpenPolicy {
  readonly policy: Policy;
  /** Whether it samples token ids itself, and then answers equal seeds with equal tokens. */
  readonly samplesTokens: boolean;
  close(): Promise<void>;
}

export function policyConformance(name: string, make: () => Promise<OpenPolicy>): void {
  describe(`policy ${name}`, () => {
    let opened: OpenPolicy;
    beforeEach(async () => {
      opened = await make();
    });
    afterEach(() => opened.close());

    const act = (state: State, seed = 1n, signal = new AbortController().signal): Promise<Action> =>
      opened.policy.act(state, { episodeId: "conformance-1", seed, signal });

    test("says what it is, and has a version", () => {
      const { describe: description, version } = opened.policy;
      expect(description.name).not.toBe("");
      expect(description.backend).not.toBe("");
      expect(Number.isInteger(version) && version >= 0).toBe(true);
    });

    test("answers a first state with a well-formed action and leaves the state as it was", async () => {
      const state = deepFreeze(stateOf([]));
      expectWellFormed(await act(state));
    });

    test("answers a later state as well, its own action among the messages", async () => {
      const first = await act(stateOf([]));
      const answered: Message[] = first.calls.map((call) => ({ role: "tool", observation: observationOf(call.id) }));
      expectWellFormed(await act(deepFreeze(stateOf([{ role: "policy", action: first }, ...answered], 1))));
    });

    test("keeps episodes that act at the same time apart", async () => {
      const alone = await act(stateOf([]), 1n);
      const together = await Promise.all([1n, 2n, 3n].map((seed) => act(stateOf([]), seed)));
      for (const action of together) expectWellFormed(action);
      if (opened.samplesTokens) expect(together[0]?.tokens?.ids).toEqual(alone.tokens?.ids);
    });

    test("samples tokens that line up with their log-probabilities, or says that it samples none", async () => {
      const { tokens, sampledTokens } = await act(stateOf([]));
      expect(tokens !== null).toBe(opened.samplesTokens);
      if (tokens === null) return;
      expect(tokens.promptIds.length).toBeGreaterThan(0);
      expect(tokens.ids.length).toBe(sampledTokens);
      expect(tokens.logprobs.length).toBe(tokens.ids.length);
      expect(tokens.logprobs.every((logprob) => Number.isFinite(logprob) && logprob <= 0)).toBe(true);
      expect(tokens.policyVersion).toBe(opened.policy.version);
    });

    test("a turn that was given up is cancelled, unless it was already answered", async () => {
      const controller = new AbortController();
      controller.abort();
      const ended = await act(stateOf([]), 1n, controller.signal).then(expectWellFormed, (error: unknown) => {
        expect(toFailure(error).code).toBe("cancelled");
      });
      expect(ended).toBeUndefined();
    });
  });
}

function expectWellFormed(action: Action): void {
  expect(Number.isInteger(action.sampledTokens) && action.sampledTokens >= 0).toBe(true);
  for (const call of action.calls) {
    expect(typeof call.argumentsRaw).toBe("string");
    expect(call.arguments === null).toBe(call.parseError !== null);
  }
  const ids = action.calls.map((call) => call.id);
  expect(new Set(ids).size).toBe(ids.length);
}

function stateOf(later: readonly Message[], turn = 0): State {
  const { name, description, parameters } = submitTool();
  return {
    turn,
    messages: [{ role: "system", text: "Be brief." }, { role: "user", text: "say a" }, ...later],
    tools: [{ name, description, parameters }],
    limitsLeft: { turns: 5, tokens: 200, agentMs: 60_000 },
    done: false,
    stopReason: null,
  };
}

function observationOf(callId: string) {
  return {
    callId,
    tool: "submit",
    text: "a",
    raw: Uint8Array.of(97),
    rawBytes: 1,
    bytesLeftOut: 0,
    exitCode: null,
    timedOut: false,
    oomKilled: false,
    durationMs: 0,
    isInvalid: false,
  };
}

/** Bytes and token arrays cannot be frozen; everything around them can. */
function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}
