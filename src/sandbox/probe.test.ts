/** What `sandlot doctor` prints about this machine is true, and each missing thing comes with its remedy. */
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { systemRuntime } from "../runtime/system.ts";
import { probeNamespaces } from "./probe.ts";
import { namespaceProvider } from "./provider-namespace.ts";
import { unkeptLimits } from "./zygote.ts";

test("a machine that can make sandboxes says so by having made one", async () => {
  const provider = namespaceProvider({ runtime: systemRuntime() });
  const report = await provider.probe();
  await provider.close();
  expect(report.lines.filter((line) => !line.ok && line.required)).toEqual([]);
  expect(report.lines.map((line) => line.name)).toEqual(
    expect.arrayContaining([
      "kernel",
      "root",
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
  expect(report.lines.at(-1)).toMatchObject({
    name: "sandbox",
    ok: false,
    evidence: expect.stringContaining("Operation not permitted"),
    remedy: expect.any(String),
  });
});

test("limits that no control group can keep are a missing requirement", async () => {
  const report = await probeNamespaces({ run: async () => ({ memory: "v1", pids: "none", cpu: "v1", kill: "v2" }) });
  expect(report.ok).toBe(false);
  expect(report.lines.find((line) => line.name === "limits")).toMatchObject({
    ok: false,
    evidence: expect.stringContaining("pids none"),
  });
  expect(report.lines.at(-1)).toMatchObject({
    name: "sandbox",
    ok: false,
    evidence: expect.stringMatching(/^not tried/),
  });
});

test("no sandbox is made whose limits nothing keeps", () => {
  expect(unkeptLimits({ memory: "v1", pids: "none", cpu: "none", kill: "v2" })).toEqual(["pids", "cpu"]);
  expect(unkeptLimits({ memory: "v1", pids: "v2", cpu: "v2", kill: "v2" })).toEqual([]);
});
