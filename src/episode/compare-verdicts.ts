/**
 * Whether two verdicts on the same frozen state say the same. Times always differ, and so do the scores of tiers that
 * measure time and what a judge thinks; everything else must not.
 */
import type { Task } from "../core/task.ts";
import type { Verdict } from "../core/verifier.ts";

/** What differs first, as words for a person; null when nothing does. */
export function differenceOf(
  task: Pick<Task, "verifier">,
  first: Pick<Verdict, "scores" | "tests" | "total">,
  second: Pick<Verdict, "scores" | "tests" | "total">,
): string | null {
  const measured = new Set(
    task.verifier.tiers.filter(({ runner }) => runner === "performance").map(({ name }) => name),
  );
  const others = new Map(second.tests.map((test) => [test.id, test.status]));
  for (const { id, tier, status } of first.tests) {
    const other = others.get(id) ?? "missing";
    if (!measured.has(tier) && other !== status) return `test ${id} was ${status} and then ${other}`;
  }
  for (const { tier, value } of first.scores) {
    const other = second.scores.find((score) => score.tier === tier)?.value ?? null;
    if (!measured.has(tier) && other !== value) return `tier ${tier} scored ${value} and then ${other}`;
  }
  return measured.size > 0 || first.total === second.total
    ? null
    : `the total was ${first.total} and then ${second.total}`;
}
