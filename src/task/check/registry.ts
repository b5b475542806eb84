/** Joins the catalogue to what is built. A check that is not built is reported as not assessed, so no verdict hides it. */
import { CATALOGUE } from "./catalogue.ts";
import type { Check } from "./check-contract.ts";
import { HOSTILE_CHECKS } from "./executed/hostile-checks.ts";
import { STEADY_CHECKS } from "./executed/steady-checks.ts";
import { VIEW_CHECKS } from "./executed/view-checks.ts";
import { HISTORY_CHECKS } from "./history-checks.ts";
import { JUDGE_CHECKS } from "./judge-checks.ts";
import { SCRIPT_CHECKS } from "./script-checks.ts";
import { TEXT_CHECKS } from "./text-checks.ts";

const BUILT: readonly Check[] = [
  ...TEXT_CHECKS,
  ...SCRIPT_CHECKS,
  ...STEADY_CHECKS,
  ...HOSTILE_CHECKS,
  ...VIEW_CHECKS,
  ...JUDGE_CHECKS,
  ...HISTORY_CHECKS,
];

/** All 51 checks, by number. */
export const CHECKS: readonly Check[] = CATALOGUE.map((spec) => {
  const [built] = BUILT.filter(({ id }) => id === spec.id);
  return built ?? { ...spec, check: () => ({ status: "not-assessed", evidence: "this check is not built yet" }) };
});

/** Ids of the catalogue that nothing is built for, and ids that are built twice or under no entry of it. */
export function unmatchedChecks(): { readonly missing: readonly string[]; readonly stray: readonly string[] } {
  const ids = BUILT.map(({ id }) => id);
  return {
    missing: CATALOGUE.map(({ id }) => id).filter((id) => !ids.includes(id)),
    stray: ids.filter((id, index) => ids.indexOf(id) !== index || !CATALOGUE.some((spec) => spec.id === id)),
  };
}
