/** The bwrap provider refuses what it cannot keep, says what is missing, and shows each shape of a machine. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import type { SandboxProvider, SandboxRequest } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { bwrapProvider } from "./provider-bwrap.ts";

const NEVER = new AbortController().signal;
const MIB = 1 << 20;
const REQUEST = smallRequest({
  attemptId: "bwrap",
  limits: { cpus: 1, diskBytes: 8 * MIB, filesMax: 1_000, processesMax: 32 },
  labels: { run: "one" },
});
const OPTIONS = { timeoutMs: 20_000, outputBytesMax: 4_096 };

function open(program?: string): SandboxProvider {
  const provider = bwrapProvider({ runtime: systemRuntime(), ...(program === undefined ? {} : { program }) });
  onTestFinished(() => provider.close());
  return provider;
}

test("a network, another image, a stronger isolation and limits of nothing are refused by name", async () => {
  const refusal = (change: Partial<SandboxRequest>): Promise<unknown> =>
    open("/none/bwrap").create({ ...REQUEST, ...change }, NEVER);
  await expect(refusal({ network: { mode: "open" } })).rejects.toMatchObject({ code: "unsupported" });
  await expect(refusal({ image: "debian:bookworm" })).rejects.toMatchObject({ code: "image_unavailable" });
  await expect(refusal({ isolationMin: "vm" })).rejects.toMatchObject({ code: "isolation_too_weak" });
  const limits = { ...REQUEST.limits, diskBytes: 0 };
  await expect(refusal({ limits })).rejects.toMatchObject({ code: "request_invalid" });
});

test("without the program the probe names the package, and a creation says what could not be run", async () => {
  const provider = open("/none/bwrap");
  const report = await provider.probe();
  expect(report.ok).toBe(false);
  expect(report.lines.find(({ name }) => name === "bwrap")).toMatchObject({ ok: false, remedy: /bubblewrap/ });
  const creation = provider.create(REQUEST, NEVER);
  await expect(creation).rejects.toMatchObject({ code: "sandbox_unavailable", message: expect.stringMatching(/none/) });
});

testUnless(MISSING.bubblewrap)(
  "a sandbox is listed by its labels until it is ended by its id, and a closed provider makes none",
  async () => {
    const provider = open();
    const sandbox = await provider.create(REQUEST, NEVER);
    expect((await provider.list({ run: "one" })).map(({ id }) => id)).toEqual([sandbox.id]);
    expect(await provider.list({ run: "two" })).toEqual([]);
    expect(await provider.destroy(sandbox.id)).toBe("destroyed");
    expect(await provider.destroy(sandbox.id)).toBe("absent");
    await provider.close();
    await provider.close();
    await expect(provider.create(REQUEST, NEVER)).rejects.toMatchObject({ code: "sandbox_unavailable" });
  },
);

testUnless(MISSING.bubblewrap)(
  "each sandbox shows its own limits, of however many shapes, and nothing of it lies on the host's disk",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandlot-bwrap-test-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = folder;
    onTestFinished(() => {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    });
    const provider = open();
    for (let mib = 60; mib < 96; mib += 1) {
      const limits = { ...REQUEST.limits, memoryBytes: mib * MIB };
      const sandbox = await provider.create({ ...REQUEST, limits }, NEVER);
      const { stdout } = await sandbox.exec(
        "nproc; head -1 /proc/meminfo | tr -dc 0-9; ls /etc | grep -c passwd",
        OPTIONS,
      );
      expect(Buffer.from(stdout).toString()).toBe(`1\n${mib * 1_024}1\n`);
      expect(readdirSync(folder)).toEqual([]);
      await sandbox.destroy();
    }
  },
);
