/** What `sandlot doctor` prints about this machine is true, and each missing thing comes with its remedy. */
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { systemRuntime } from "../runtime/system.ts";
import { probeNamespaces } from "./probe.ts";
import { namespaceProvider } from "./provider-namespace.ts";

test("a machine that can make sandboxes says so by having made one", async () => {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  const report = await provider.probe();
  await provider.close();
  expect(report.lines.filter((line) => !line.ok && line.required)).toEqual([]);
  expect(report.lines.map((line) => line.name)).toEqual(
    expect.arrayContaining([
      "kernel",
      "ids",
      "user namespaces",
      "overlay",
      "compiler",
      "python3",
      "bash",
      "limits",
      "sandbox",
    ]),
  );
  expect(report.ok).toBe(true);
});

test("a kernel that refuses is named with its reason and a remedy", async () => {
  const refuse = () =>
    Promise.reject(new Failure("environment_missing", "clone with namespaces: Operation not permitted"));
  const report = await probeNamespaces({ run: refuse });
  expect(report.ok).toBe(false);
  expect(report.lines.find((line) => line.name === "sandbox")).toMatchObject({
    ok: false,
    evidence: expect.stringContaining("Operation not permitted"),
    remedy: expect.any(String),
  });
});

test("limits that no control group keeps are told, with what keeps them instead and how to get the groups", async () => {
  const groups = { memory: "none", pids: "none", cpu: "none", kill: "none", ids: "self" } as const;
  const report = await probeNamespaces({ run: async () => groups });
  expect(report.ok).toBe(true);
  expect(report.lines.find((line) => line.name === "limits")).toMatchObject({
    ok: false,
    evidence: expect.stringContaining("memory sampled, processes enforced, cpus none"),
    remedy: expect.any(String),
  });
});

test("every level of isolation has its line, and a missing one its reason", async () => {
  const { lines } = await probeNamespaces({
    run: async () => ({ memory: "v1", pids: "v1", cpu: "v1", kill: "v2", ids: "root" }),
  });
  const levels = ["process", "namespace", "gvisor", "vm"].map((name) => lines.find((line) => line.name === name));
  expect(levels.map((line) => line?.ok)).toEqual([false, true, false, false]);
  for (const line of levels) expect(line).toMatchObject({ required: false, evidence: expect.stringMatching(/.{8}/) });
});
