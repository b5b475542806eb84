/** Cases of the record that is made outside of a sandbox: complete, and out of reach of what it records. */
import { expect } from "vitest";
import type { Sandbox, SandboxEvent, SandboxTrace } from "../../src/core/sandbox.ts";
import type { ConformanceCase } from "./case.ts";
import { OPTIONS, output } from "./sandbox-parts.ts";

async function traced(sandbox: Sandbox, watched: readonly string[]): Promise<SandboxTrace> {
  const trace = (await sandbox.trace?.(watched)) ?? null;
  expect(trace, "a trace").not.toBeNull();
  if (trace === null) throw new Error("no trace");
  return trace;
}

const told = (events: readonly SandboxEvent[]): string[] =>
  events.map(({ kind, path, argv }) => `${kind} ${kind === "exec" ? (argv?.slice(1).join(" ") ?? "?") : path}`);

export const TRACE_CASES: readonly ConformanceCase[] = [
  {
    number: 80,
    title: "programs with their words, and who touches a watched file, are recorded outside of the sandbox",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(
          sandbox,
          "mkdir -p /watched/below /work; echo x >/watched/below/f; echo x >/work/g; chmod 666 /work/g",
        );
        const trace = await traced(sandbox, ["/watched", "/missing"]);
        await output(sandbox, "sleep 0.031; cat /watched/below/f /work/g", { user: "agent" });
        await output(sandbox, "echo y >>/watched/below/f; echo y >>/work/g");
        const { events, dropped } = await trace.log();
        expect(told(events)).toEqual(
          expect.arrayContaining(["exec 0.031", "open /watched/below/f", "write /watched/below/f"]),
        );
        expect(told(events).filter((line) => /^(?:open|write) \/work/.test(line))).toEqual([]);
        expect(dropped).toBe(0);
      }),
  },
  {
    number: 80,
    part: "b",
    title: "root of the sandbox can neither see, end nor flood the record",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        const trace = await traced(sandbox, []);
        await sandbox.exec("kill -9 -1", OPTIONS);
        const names = await output(sandbox, "cat /proc/[0-9]*/comm");
        expect(names).not.toContain("trace");
        await output(
          sandbox,
          "i=0; while [ $i -lt 40 ]; do sleep 0.0$i; i=$((i+1)); done; i=0; while [ $i -lt 99 ]; do /bin/true; i=$((i+1)); done; sleep 0.041",
        );
        const { events } = await trace.log();
        expect(told(events)).toContain("exec 0.041");
        expect(events.filter(({ path }) => path.endsWith("/true")).length).toBeLessThan(50);
        await sandbox.destroy();
        expect(told((await trace.log()).events)).toContain("exec 0.041");
      }),
  },
];
