/** The episodes of the outcome drills: what each is about, and whether its policy does it right. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Task } from "../../src/core/task.ts";
import { loadGenerator } from "../../src/task/generator.ts";

export const ROOT = join(fileURLToPath(import.meta.url), "..", "..", "..");
export const DRILL_RUN = "drill";

const generator = await loadGenerator(join(ROOT, "tasks", "generator", "first-light"));

/** Every sixth episode is graded by hidden tests in a sandbox of their own, the others by comparing answers. */
export function isFolderTask(index: number): boolean {
  return index % 6 === 5;
}

/** Half of the policies do what they are asked, half do not. */
export function isRight(index: number): boolean {
  return index % 4 < 2;
}

export function answerTaskOf(index: number): Task {
  return generator.generate({ split: "train", index, seed: 11n });
}
