/** Does nothing and says so: submits at once. A task on which it earns anything is broken. */
import type { Policy } from "../core/policy.ts";
import { scriptAction, scriptCall, scriptDescription } from "./script-action.ts";

export function nopPolicy(): Policy {
  return {
    describe: scriptDescription("nop", "nop"),
    version: 0,
    act: async () => scriptAction([scriptCall(0, "submit", {})]),
  };
}
