/** The native parts are compiled once, or taken from where a person says. */
import { afterEach, expect, test, vi } from "vitest";
import { buildNative } from "./build.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a helper that was built elsewhere is used as it is, and one that is not there is named", async () => {
  const { path } = await buildNative("helper");
  for (const wrong of ["/nonexistent/cc", "/tmp"]) {
    vi.stubEnv("CC", wrong);
    const refusal = { code: "environment_missing", message: expect.stringContaining(`CC names "${wrong}"`) };
    await expect(buildNative("helper")).rejects.toMatchObject(refusal);
  }
  vi.stubEnv("SANDLOT_HELPER", path);
  expect(await buildNative("helper")).toMatchObject({ path, isFresh: false });
  vi.stubEnv("SANDLOT_HELPER", "/nonexistent/helper");
  await expect(buildNative("helper")).rejects.toThrow("/nonexistent/helper");
});
