import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { resumeTraining } from "./app-train.ts";
import { systemRuntime } from "./runtime/system.ts";
import { openStore } from "./store/open-store.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-test-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("a run whose generator has another version by now does not go on with other tasks", async () => {
  const runtime = systemRuntime();
  const store = await openStore({ folder, runtime, mode: "owner" });
  const generatorFolder = join(import.meta.dirname, "..", "tasks", "generator", "first-light");
  const config = { recipe: {}, generatorFolder, taskSet: "first-light@0", threads: 1 };
  const run = { runId: "R", kind: "train", state: "stopped", name: "t", createdAt: 1, recipeHash: "" } as const;
  await store.createRun({ ...run, config: JSON.stringify(config) });
  await store.close();

  const never = new AbortController().signal;
  const options = { dataFolder: folder, onEvent: () => undefined, drain: never, abort: never };
  await expect(resumeTraining("R", options)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/first-light@0.*first-light@1/s),
  });
});
