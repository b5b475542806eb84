/** Case 68: several host programs on one machine, one run folder and one image folder: none ends or sees what is another's. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { output, REQUEST } from "../conformance/sandbox-parts.ts";
import { NEVER } from "./abuse-parts.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

vi.setConfig({ testTimeout: 60_000 });
const CYCLES = process.env["SANDLOT_TEST_SIZE"] === "long" ? 400 : 12;

let baseline: LeakBaseline;
let scratch: string;
let images: string;
const programs: ChildProcess[] = [];

beforeEach(async () => {
  baseline = await leakBaseline();
  scratch = mkdtempSync(join(tmpdir(), "sandlot-hosts-"));
  images = join(scratch, "images");
});

afterEach(async () => {
  for (const program of programs.splice(0)) program.kill("SIGKILL");
  await expectNoLeaks(baseline);
  rmSync(scratch, { recursive: true, force: true });
});

interface Host {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly end: Promise<{ readonly code: number | null; readonly output: string }>;
}

function startHost(cycles: number, seed: number): Host {
  const program = fileURLToPath(new URL("./host-program.ts", import.meta.url));
  const child = spawn(process.execPath, [program, images, String(cycles), String(seed)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  programs.push(child);
  let text = "";
  const ready = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const end = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, output: text }));
  });
  return { child, ready, end };
}

test("68. three programs start at once on empty folders, and each does all its work", async () => {
  const hosts = [1, 2, 3].map((seed) => startHost(CYCLES, seed));
  for (const { end } of hosts) {
    const { code, output: told } = await end;
    expect(code, told).toBe(0);
    expect(told).toContain(`{"done":${CYCLES}}`);
  }
});

test("68b. a program that is killed takes only its own sandboxes with it, and others sweep what it left", async () => {
  const provider = namespaceProvider({ runtime: systemRuntime(), imageFolder: images });
  try {
    const mine = await provider.create(REQUEST, NEVER);
    await output(mine, "echo mine > /tmp/mine; (setsid sleep 984 &) & true");
    const [doomed, other] = [startHost(0, 4), startHost(CYCLES, 5)];
    await Promise.all([doomed.ready, other.ready]);
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      await provider.sweep();
    }
    doomed.child.kill("SIGKILL");
    await doomed.end;
    await provider.sweep();
    const { code, output: told } = await other.end;
    expect(code, told).toBe(0);
    expect(await output(mine, "cat /tmp/mine; pgrep -c sleep")).toBe("mine\n1\n");
  } finally {
    await provider.close();
  }
});
