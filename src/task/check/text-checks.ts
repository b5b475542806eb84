/**
 * The checks that read a task and run nothing: form, manifest, secrets, pins, what its tests do with the agent's data, and
 * whether every requirement has its tests. Each states an exact fact with file and line.
 */
import { defineCheck } from "./catalogue.ts";
import type { Check } from "./check-contract.ts";
import { baresRequirement, namesStated, requirementsCovered } from "./static/coverage.ts";
import { nearDuplicate } from "./static/duplicates.ts";
import { instructionForm, noSolutionText } from "./static/instruction.ts";
import { dependenciesPinned, imagePinned, noSecrets } from "./static/supply.ts";
import { testsAssert, verifierIndependent } from "./static/test-code.ts";
import { answerSpace, behaviourJudged, noInstall, noUnsafeLoad } from "./static/test-habits.ts";

export const TEXT_CHECKS: readonly Check[] = [
  defineCheck("folder-valid", ({ task, warnings }) => {
    const where = task.folder ?? "the generated task";
    if (warnings.length === 0) return { status: "pass", evidence: `${where} was read whole` };
    return { status: "pass", evidence: `${where} was read, with ${warnings.length} warnings: ${warnings.join(" ")}` };
  }),
  defineCheck("verifier-independent", ({ task }) => verifierIndependent(task)),
  defineCheck("no-secrets", noSecrets),
  defineCheck("image-pinned", imagePinned),
  defineCheck("dependencies-pinned", dependenciesPinned),
  defineCheck("no-install-at-grading", ({ task }) => noInstall(task)),
  defineCheck("tests-assert", ({ task }) => testsAssert(task)),
  defineCheck("behaviour-judged", ({ task }) => behaviourJudged(task)),
  defineCheck("no-unsafe-load", ({ task }) => noUnsafeLoad(task)),
  defineCheck("names-stated", ({ task }) => namesStated(task)),
  defineCheck("instruction-form", ({ task }) => instructionForm(task)),
  defineCheck("no-solution-text", ({ task }) => noSolutionText(task)),
  defineCheck("answer-space", ({ task }) => answerSpace(task)),
  defineCheck("near-duplicate", nearDuplicate),
  defineCheck("requirements-covered", ({ task }) => baresRequirement(task) ?? requirementsCovered(task)),
];
