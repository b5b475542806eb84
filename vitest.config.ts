import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Model keys never reach a test. */
const env = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /(_API_KEY|_TOKEN)$/.test(name))
    .map((name) => [name, ""]),
);

export default defineConfig({
  test: {
    env,
    include: ["src/**/*.test.ts", "native/**/*.test.ts", "tasks/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: Math.max(1, Math.min(4, availableParallelism())),
    testTimeout: 180_000,
    hookTimeout: 120_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
