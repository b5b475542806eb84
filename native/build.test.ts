/** The native parts are compiled once, or taken from where a person says. */
import { afterEach, expect, test, vi } from "vitest";
import { buildNative } from "./build.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a helper that was built elsewhere is used as it is, and one that is not there is named", async () => {
  const { path } = await buildNative("helper");
  vi.stubEnv("CC", "/nonexistent/cc");
  await expect(buildNative("helper")).rejects.toMatchObject({ code: "environment_missing" });
  vi.stubEnv("SANDLOT_HELPER", path);
  expect(await buildNative("helper")).toMatchObject({ path, isFresh: false });
  vi.stubEnv("SANDLOT_HELPER", "/nonexistent/helper");
  await expect(buildNative("helper")).rejects.toThrow("/nonexistent/helper");
});
