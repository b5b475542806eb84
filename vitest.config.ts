import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Model keys never reach a test. */
const env = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /(_API_KEY|_TOKEN)$/.test(name))
    .map((name) => [name, ""]),
);

/** They take minutes: started first, they run beside all the others instead of alone at the end. */
const FIRST = [
  "sandbox-docker.test.ts",
  "sandbox-podman.test.ts",
  "sandbox-non-root.test.ts",
  "train.test.ts",
  "hacks/hacks.test.ts",
  "folder-tasks.test.ts",
  "verifier/sql.test.ts",
  "tasks/library.test.ts",
  "tasks/shipped-tasks.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification): boolean => FIRST.some((name) => moduleId.endsWith(name));
    const rest = await super.sort(files);
    return [...rest.filter(isFirst), ...rest.filter((file) => !isFirst(file))];
  }
}

export default defineConfig({
  test: {
    env,
    include: ["src/**/*.test.ts", "native/**/*.test.ts", "tasks/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: Math.max(1, Math.min(4, availableParallelism())),
    // Nothing waits for a time; these end what hangs, also where others take the processors for minutes.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    dangerouslyIgnoreUnhandledErrors: false,
    // CI runs on machines that others starve. A test that passes only on its second try is named in the summary.
    retry: process.env["CI"] || process.env["SANDLOT_TEST_RETRY"] ? 1 : 0,
    sequence: { sequencer: LongestFirst },
  },
});
