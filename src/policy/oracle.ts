/**
 * Runs a task's script in place of a model: the oracle, an alternative, or a deliberately wrong solution. One command a
 * turn, then submit. The script's own files go into the episode through `EpisodePlan.extraFiles`.
 */
import type { Policy } from "../core/policy.ts";
import type { Script } from "../core/task.ts";
import { scriptAction, scriptCall, scriptDescription } from "./script-action.ts";

/** Needs the tools `shell` (when the script has commands) and `submit`. */
export function scriptPolicy(script: Script): Policy {
  return {
    describe: scriptDescription(script.name, "oracle"),
    version: 0,
    async act(state) {
      const command = script.commands[state.turn];
      if (command !== undefined) return scriptAction([scriptCall(0, "shell", { command })]);
      return scriptAction([scriptCall(0, "submit", script.answer === null ? {} : { answer: script.answer })]);
    },
  };
}
