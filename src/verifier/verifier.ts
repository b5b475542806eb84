/** The verifier of every task: picks the template the task names, then scores what its tests say. */
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Verifier } from "../core/verifier.ts";
import { type Graded, gradeMatch } from "./match.ts";
import { tierScore } from "./tier-score.ts";
import { unittestGrader } from "./unittest.ts";

/** Raised when equal inputs may give another verdict than before. */
const VERSION = 1;

/** A verifier that keeps nothing between gradings; see the port for its promises. */
export function createVerifier({ runtime }: { readonly runtime: Runtime }): Verifier {
  const gradeUnittest = unittestGrader(runtime);
  return {
    version: VERSION,
    grade: async (request, sandboxes) => {
      const { task, gradingSeed, signal } = request;
      if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
      const startedMs = runtime.monotonic();
      const spec = task.verifier;
      const isMatch = spec.kind === "match";
      const graded: Graded = isMatch
        ? await gradeMatch(request, spec, sandboxes, runtime)
        : await gradeUnittest(request, spec, sandboxes);
      const { total, scores } = tierScore(isMatch ? "match" : spec.runner, spec.tiers, graded.tests);
      return {
        total,
        scores,
        tests: graded.tests,
        gradingSeed: gradingSeed.toString(),
        imageHash: graded.imageHash,
        sandboxIds: graded.sandboxIds,
        durationMs: runtime.monotonic() - startedMs,
      };
    },
  };
}
