/**
 * Fuzzes the frames and requests that the agent takes from its channel, under the sanitizers, for a bounded time. The
 * seeds are what this side really sends. A crash prints the input that made it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ExecFrame, encodeExec, encodeFrame, encodeRequest, FRAME, JOB } from "../../../src/sandbox/frames.ts";
import { whyNoFuzzing } from "./fuzz-support.ts";

const HELPER = join(import.meta.dirname, "..");
const SECONDS = process.env["SANDLOT_TEST_SIZE"] === "long" ? 600 : 20;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-fuzz-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const PLAIN: ExecFrame = {
  kind: JOB.command,
  killsAtLimit: false,
  killsDescendants: false,
  hasInput: true,
  uid: 1_000,
  timeoutMs: 1_000,
  idleOutputMs: 0,
  killGraceMs: 200,
  outputBytesMax: 1_000,
  pipes: [],
  cwd: "/",
  argv: ["sh", "-c", "true"],
  envVars: { A: "b" },
};

function seeds(): readonly Buffer[] {
  const request = (change: Partial<ExecFrame>): Buffer =>
    encodeRequest(1, FRAME.exec, encodeExec({ ...PLAIN, ...change }));
  const half = encodeExec(PLAIN);
  return [
    request({}),
    request({
      pipes: [
        { fd: 3, ways: 1 },
        { fd: 255, ways: 3 },
      ],
      terminal: { columns: 80, rows: 24 },
    }),
    request({ argv: ["a", "", "b"], envVars: {} }),
    Buffer.concat([
      encodeFrame(2, FRAME.exec, 1, half.subarray(0, 50)),
      encodeFrame(2, FRAME.exec, 0, half.subarray(50)),
    ]),
    Buffer.concat([encodeFrame(3, FRAME.ping, 0, Buffer.alloc(0)), encodeFrame(3, FRAME.cancel, 0, Buffer.alloc(0))]),
  ];
}

test(
  "no bytes on the agent's channel make it read or write where it must not",
  (context) => {
    const reason = whyNoFuzzing(folder);
    if (reason !== null) context.skip(reason);
    const program = join(folder, "fuzz");
    const corpus = join(folder, "corpus");
    const sanitizers = ["-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"];
    const sources = ["job-request.c", "test/fuzz-requests.c"].map((name) => join(HELPER, name));
    execFileSync("clang", ["-std=gnu11", "-Wall", "-Wextra", ...sanitizers, ...sources, "-o", program]);
    mkdirSync(corpus);
    for (const [index, seed] of seeds().entries()) writeFileSync(join(corpus, `seed-${index}`), seed);
    const options = [`-max_total_time=${SECONDS}`, "-seed=1", "-max_len=4096", "-timeout=20", "-print_final_stats=1"];
    const run = spawnSync(program, [...options, corpus], { cwd: folder, encoding: "utf8" });
    expect(run.status, run.stderr.slice(-4_000)).toBe(0);
    const executed = Number(/number_of_executed_units: (\d+)/.exec(run.stderr)?.[1]);
    expect(executed).toBeGreaterThan(seeds().length);
  },
  (SECONDS + 60) * 1_000,
);
