/** Ctrl-C at a run: once drains, twice stops, and a press that arrives twice counts once. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-program.ts";

/** A process that watches its signals as a run does; `onLine` gets each line it prints. */
function watch(
  onLine: (line: string, kill: (signal: NodeJS.Signals) => void) => void,
): Promise<{ lines: string[]; exitCode: number | null }> {
  const program = `
    import { stopSignals } from ${JSON.stringify(join(ROOT, "src", "cli", "stop-signals.ts"))};
    import { systemRuntime } from ${JSON.stringify(join(ROOT, "src", "runtime", "system.ts"))};
    const signals = stopSignals(systemRuntime(), (text) => console.log("said " + text), "sandlot run resume");
    const alive = setInterval(() => {}, 1000);
    signals.drain.addEventListener("abort", () => console.log("drain"));
    signals.abort.addEventListener("abort", () => {
      console.log("abort");
      if (process.argv[1] !== "hang") { clearInterval(alive); process.exitCode = signals.exitCode(); }
    });
    console.log("ready");`;
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let rest = "";
    child.stdout.on("data", (bytes: Buffer) => {
      const parts = (rest + bytes.toString()).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) {
        lines.push(line);
        onLine(line, (signal) => child.kill(signal));
      }
    });
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ lines, exitCode }));
  });
}

const apart = (act: () => void): void => void setTimeout(act, 600);

test("the first Ctrl-C drains and says how to go on; the second stops at once", async () => {
  const { lines, exitCode } = await watch((line, kill) => {
    if (line === "ready") kill("SIGINT");
    if (line === "drain") apart(() => kill("SIGINT"));
  });
  expect(lines.filter((line) => !line.startsWith("said"))).toEqual(["ready", "drain", "abort"]);
  expect(lines[1]).toMatch(/^said Finishing the current step\. Ctrl-C again stops at once; go on with: .* run resume$/);
  expect(exitCode).toBe(130);
});

test("one key press that arrives twice is one press", async () => {
  let pressedAgain = false;
  let abortedBefore = false;
  const { exitCode } = await watch((line, kill) => {
    if (line === "ready") kill("SIGINT");
    if (line === "abort" && !pressedAgain) abortedBefore = true;
    if (line !== "drain") return;
    kill("SIGINT");
    apart(() => {
      pressedAgain = true;
      kill("SIGINT");
    });
  });
  expect([abortedBefore, exitCode]).toEqual([false, 130]);
});

test("SIGTERM drains too, and decides the exit code", async () => {
  const { lines, exitCode } = await watch((line, kill) => {
    if (line === "ready") kill("SIGTERM");
    if (line === "drain") apart(() => kill("SIGTERM"));
  });
  expect(lines.at(-1)).toBe("abort");
  expect(exitCode).toBe(143);
});
