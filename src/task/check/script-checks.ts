/**
 * The checks that only run a task's scripts and read the verdicts: oracle, nothing, other correct ways, and whether
 * every listed test reported. How often each is run grows with the profile.
 */
import type { Script } from "../../core/task.ts";
import { defineCheck } from "./catalogue.ts";
import type { Check, CheckContext, Profile, ScriptRun } from "./check-contract.ts";
import { alternativesPass, nopFails, oraclePasses, testsReported } from "./script-findings.ts";
import { manifestMatches } from "./static/manifest.ts";

/** Runs of the oracle and of doing nothing; check 5 asks for more of the oracle where it is in the profile. */
const REPEATS: Readonly<Record<Profile, number>> = { quick: 2, ci: 2, release: 3 };

function repeated(context: CheckContext, script: Script | null): Promise<readonly ScriptRun[]> {
  return context.runs({ script, variant: "plain" }, REPEATS[context.profile]);
}

/** Checks 3, 4, 18 and 29. */
export const SCRIPT_CHECKS: readonly Check[] = [
  defineCheck("oracle-passes", async (context) =>
    oraclePasses(context.task, await repeated(context, context.task.oracle)),
  ),
  defineCheck("nop-fails", async (context) => nopFails(await repeated(context, null))),
  defineCheck("alternatives-pass", async (context) => {
    const { alternatives } = context.task;
    const all = alternatives.map(async (script) => ({ script, runs: await repeated(context, script) }));
    return alternativesPass(context.task, await Promise.all(all));
  }),
  defineCheck("test-manifest", async (context) => {
    const read = manifestMatches(context.task);
    if (read.status !== "pass") return read;
    return testsReported(context.task, await repeated(context, context.task.oracle), read);
  }),
];
