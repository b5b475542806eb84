/**
 * Environments on this machine, ready to use: namespace sandboxes, the shipped verifier, the tools `shell`, `view`,
 * `edit` and `submit`. For programs that bring their own policy and loop; `sandlot train` does not use it.
 */
import { availableParallelism } from "node:os";
import { openMachinery, SYSTEM_TEXT, verdictIdentityOn, verdictMemory } from "./app-parts.ts";
import type { Environment } from "./core/environment.ts";
import type { Task } from "./core/task.ts";
import { openEnvironment } from "./episode/environment.ts";
import { createGrader } from "./episode/grade.ts";
import { editTool } from "./policy/tool/edit.ts";
import { shellTool } from "./policy/tool/shell.ts";
import { submitTool } from "./policy/tool/submit.ts";
import { viewTool } from "./policy/tool/view.ts";
import { recipeSchema } from "./run/recipe.ts";
import { createVerifier } from "./verifier/verifier.ts";

export interface Environments {
  /** A fresh environment for one episode of this task. The caller closes it. */
  open(task: Task): Environment;
  /** Destroys every sandbox and ends the provider. */
  close(): Promise<void>;
}

/** Needs root and a kernel that allows namespaces; `sandlot doctor` says what is missing. */
export function openEnvironments(): Environments {
  const { sandbox } = recipeSchema.parse({});
  const machinery = openMachinery(sandbox, availableParallelism(), verdictMemory(), SYSTEM_TEXT);
  const { pool, runtime, images } = machinery;
  const grader = createGrader({
    pool,
    runtime,
    verifier: createVerifier({ runtime }),
    verdicts: verdictMemory(),
    identity: verdictIdentityOn(images),
  });
  const tools = [shellTool(), viewTool(), editTool(), submitTool()];
  return {
    open: (task) => openEnvironment({ task, pool, grader, tools, systemText: SYSTEM_TEXT, runtime }),
    close: () => machinery.close(),
  };
}
