/** Where the helper's sockets lie: in a folder that is this user's own, whoever else uses the machine. */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runParent, startZygote } from "./zygote.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-run-parent-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test("the folder of sockets is this user's own and closed to others", () => {
  vi.stubEnv("XDG_RUNTIME_DIR", folder);
  expect(runParent()).toBe(join(folder, "sandlot"));
  expect(lstatSync(join(folder, "sandlot")).mode & 0o777).toBe(0o700);
});

test("a link that somebody laid in its place is not followed", () => {
  mkdirSync(join(folder, "elsewhere"));
  symlinkSync(join(folder, "elsewhere"), join(folder, "sandlot"));
  vi.stubEnv("XDG_RUNTIME_DIR", folder);
  expect(runParent()).not.toContain(folder);
});

test("what another user made under the same name is left alone", () => {
  vi.stubEnv("XDG_RUNTIME_DIR", folder);
  vi.stubEnv("TMPDIR", folder);
  runParent();
  vi.spyOn(process, "geteuid").mockReturnValue((process.geteuid?.() ?? 0) + 1);
  expect(runParent).toThrow("No folder for sockets could be made");
});

test("a helper that somebody kills while it starts is a fault of the moment, not of the machine", async () => {
  const program = join(folder, "helper");
  writeFileSync(program, "#!/bin/sh\nkill -9 $$\n");
  chmodSync(program, 0o755);
  await expect(startZygote(program, { store: folder })).rejects.toMatchObject({ code: "sandbox_unavailable" });
});
