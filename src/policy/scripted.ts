/**
 * Answers with given actions, in order; the last one is repeated when the episode goes on. It drives tests and fault
 * rehearsals: an answer may also throw, wait for ever, or look at the state it answers.
 */
import type { Action, State } from "../core/environment.ts";
import type { ActContext, Policy } from "../core/policy.ts";
import { scriptAction, scriptDescription } from "./script-action.ts";

export type ScriptedAnswer = Action | ((state: State, context: ActContext) => Promise<Action> | Action);

/** With no answers at all, every action is empty. */
export function scriptedPolicy(answers: readonly ScriptedAnswer[], options?: { readonly version?: number }): Policy {
  return {
    describe: scriptDescription("scripted", "scripted"),
    version: options?.version ?? 0,
    async act(state, context) {
      const answer = answers[Math.min(state.turn, answers.length - 1)] ?? scriptAction([]);
      return typeof answer === "function" ? answer(state, context) : answer;
    },
  };
}
