import { afterAll, expect, test } from "vitest";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import { systemRuntime } from "../runtime/system.ts";
import { namespaceProvider } from "../sandbox/provider-namespace.ts";
import { driverProgram, forgetDriverProgram } from "./driver-program.ts";
import { startSubjectDriver } from "./subject-driver.ts";

const runtime = systemRuntime();
const provider = namespaceProvider({ runtime });
const { signal } = new AbortController();

afterAll(async () => {
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

const MIB = 1024 * 1024;

let attempts = 0;

async function withSandbox<T>(use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  attempts += 1;
  const request: SandboxRequest = {
    attemptId: `driver-program-${attempts}`,
    role: "subject",
    fence: 1,
    image: "host",
    isolationMin: "namespace",
    limits: { cpus: 1, memoryBytes: 96 * MIB, diskBytes: 8 * MIB, filesMax: 500, processesMax: 24, shmBytes: MIB },
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: 60_000,
  };
  const sandbox = await provider.create(request, signal);
  try {
    return await use(sandbox);
  } finally {
    forgetDriverProgram(sandbox);
    await sandbox.destroy();
  }
}

function start(sandbox: Sandbox) {
  return startSubjectDriver(
    { form: "expression", source: "x + 1", entry: "", parameters: ["x"], loadMs: 1_000, callMs: 1_000 },
    { sandbox, runtime, cwd: "/", envVars: {}, timeoutMs: 20_000, signal, isUsed: false },
  );
}

test("a driver answers alike from its source and from byte code", async () => {
  for (const isPristine of [false, true]) {
    const kind = isPristine ? /^[0-9a-f]{8}$/ : /^source$/;
    await withSandbox(async (sandbox) => {
      expect((await driverProgram(sandbox, isPristine, signal)).argv.at(-2)).toMatch(kind);
      const driver = await start(sandbox);
      expect(await driver.call("[41]", "{}")).toEqual({ kind: "value", text: '["int","42"]' });
      await driver.close();
    });
  }
});

test("a sandbox that holds something of the agent is never asked for the byte code of others", async () => {
  await withSandbox(async (sandbox) => {
    const { argv } = await driverProgram(sandbox, false, signal);
    expect(argv.at(-2)).toBe("source");
    expect((await driverProgram(sandbox, false, signal)).argv.at(-2)).toBe("source");
  });
});

test("byte code of an image is made once, and anew when a driver does not start from it", async () => {
  await withSandbox(async (sandbox) => {
    const first = await driverProgram(sandbox, true, signal);
    expect(await driverProgram(sandbox, false, signal)).toBe(first);
    first.bytes.fill(0);
    await expect(start(sandbox)).rejects.toThrow("did not start");
    expect((await driverProgram(sandbox, false, signal)).argv.at(-2)).toBe("source");
  });
});

test("an image without a Python gets the source, whose start then says what is missing", async () => {
  await withSandbox(async (sandbox) => {
    const broken = { ...sandbox, info: sandbox.info, exec: () => sandbox.exec(["/bin/false"], options) } as Sandbox;
    const options = { timeoutMs: 5_000, outputBytesMax: 1_000 };
    expect((await driverProgram(broken, true, signal)).argv.at(-2)).toBe("source");
  });
});
