/**
 * Outcome drills: platform, runner and endpoint are killed at lines of the protocol that a seed picks, again and again,
 * until every episode has ended. No reward may come of what failed, and no verdict may be lost or counted twice.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deriveSeed } from "../../src/core/random.ts";
import type { AttemptRow, TrajectoryRow } from "../../src/core/store.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { openStore } from "../../src/store/open-store.ts";
import { type ChatRequest, type OpenaiServer, openaiServer, type ServerPlan } from "../support/openai-server.ts";
import { answerTaskOf, DRILL_RUN, isFolderTask, isRight, ROOT } from "./drill-tasks.ts";
import { cleanEnvVars } from "./run-program.ts";

const isLong = process.env["SANDLOT_TEST_SIZE"] === "long";
const EPISODES = isLong ? 1_000 : 30;
const SEED = 20_261;
/** Lines of one session after which the platform is killed, at most. */
const LINES_MAX = isLong ? 600 : 60;
/** The platform is left alone after so many kills, so that the drill ends. */
const KILLS = isLong ? 60 : 5;
/** Requests that meet a dead endpoint, one after another. */
const FAULTS = 5;

let folder = "";
let server: OpenaiServer | null = null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandlot-drill-"));
});

afterEach(async () => {
  await server?.close();
  server = null;
  await rm(folder, { recursive: true, force: true });
});

/** Right or wrong answers by the task asked for; some first requests of a session are met by a dead endpoint. */
async function endpoint(): Promise<OpenaiServer> {
  const byInstruction = new Map<string, { readonly right: string; readonly index: number }>();
  for (let index = 0; index < EPISODES; index += 1) {
    const { instruction, oracle } = answerTaskOf(index);
    if (!isFolderTask(index)) byInstruction.set(instruction, { right: oracle.answer ?? "", index });
  }
  const met = new Map<string, number>();
  return openaiServer((request: ChatRequest): ServerPlan => {
    const asked = request.messages.find(({ role }) => role === "user")?.content ?? "";
    const known = byInstruction.get(asked);
    const reply = {
      text: "",
      calls: [
        { name: "submit", arguments: JSON.stringify({ answer: isRight(known?.index ?? -1) ? known?.right : "None" }) },
      ],
    };
    // Longer than the client repeats by itself: the endpoint of these is gone for a while.
    const requests = (met.get(asked) ?? 0) + 1;
    met.set(asked, requests);
    const draw = Number(deriveSeed(SEED, "endpoint", known?.index ?? -1) % 10n);
    if (draw < 4 && requests <= FAULTS) {
      const faults: ServerPlan[] = [{ kind: "reset" }, { kind: "cut", after: reply }, { kind: "status", status: 503 }];
      return faults[requests % faults.length] ?? { kind: "reset" };
    }
    return { kind: "reply", reply };
  });
}

interface Session {
  readonly lines: readonly string[];
  readonly isEnded: boolean;
  readonly stderr: string;
}

/** Runs the platform until it says that nothing is left, or kills it after `linesMax` lines. */
function session(baseUrl: string, linesMax: number): Promise<Session> {
  const program = fileURLToPath(new URL("./drill-program.ts", import.meta.url));
  const child = spawn(process.execPath, [program, folder, String(EPISODES), String(SEED), baseUrl], {
    cwd: ROOT,
    env: cleanEnvVars(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  let rest = "";
  let stderr = "";
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString();
  });
  child.stdout.on("data", (bytes: Buffer) => {
    const parts = (rest + bytes.toString()).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      if (lines.length === linesMax) child.kill("SIGKILL");
    }
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve({ lines, isEnded: lines.includes("ended"), stderr }));
  });
}

test(
  `${EPISODES} episodes under kill -9 of platform, runner and endpoint: no reward of what failed, no verdict lost or doubled`,
  async () => {
    server = await endpoint();
    const lines: string[] = [];
    let isEnded = false;
    for (let kills = 0; !isEnded; kills += 1) {
      const linesMax = kills < KILLS ? 1 + Number(deriveSeed(SEED, "platform", kills) % BigInt(LINES_MAX)) : Infinity;
      const ran = await session(server.baseUrl, linesMax);
      if (!ran.isEnded && linesMax === Infinity) throw new Error(`The platform ended by itself:\n${ran.stderr}`);
      lines.push(...ran.lines);
      isEnded = ran.isEnded;
    }
    // The drill hit what it aimed at.
    expect(lines.filter((line) => line === "kill runner").length).toBeGreaterThan(0);
    expect(lines.some((line) => line.startsWith("failed endpoint"))).toBe(true);

    const store = await openStore({ folder, runtime: systemRuntime(), mode: "reader" });
    try {
      expect(await store.counts(DRILL_RUN)).toMatchObject({ ready: 0, leased: 0, cancelled: 0 });
      const rows = await store.episodes(DRILL_RUN);
      expect(rows.map(({ episodeNo }) => episodeNo)).toEqual(Array.from({ length: EPISODES }, (_, index) => index + 1));
      const attempts = await Promise.all(rows.map(({ episodeNo }) => store.attempts(DRILL_RUN, episodeNo)));
      for (const [index, row] of rows.entries()) holdsToItsOutcome(row, index, attempts[index] ?? []);
      expect(attempts.flat().some(({ failure }) => failure === "worker_lost")).toBe(true);
      for (const { episodeNo, reward } of rows) {
        const stored = await store.trajectory(DRILL_RUN, episodeNo);
        const outcome = stored?.document.outcome;
        expect(outcome !== undefined && "reward" in outcome ? outcome.reward : null).toBe(reward);
      }
    } finally {
      await store.close();
    }
  },
  isLong ? 3_600_000 : 300_000,
);

/** What the policy did decides the reward; only what was graded has one, and each episode was accepted once. */
function holdsToItsOutcome(row: TrajectoryRow, index: number, attempts: readonly AttemptRow[]): void {
  const ended = attempts.filter(({ endedAt }) => endedAt !== null);
  expect(ended).toHaveLength(attempts.length);
  if (row.outcome === "graded") {
    expect([index, row.reward]).toEqual([index, isRight(index) ? 1 : 0]);
    expect(attempts.filter(({ failure }) => failure === null)).toHaveLength(1);
  } else {
    expect(row).toMatchObject({ outcome: "failed", reward: null });
    expect(attempts.every(({ failure }) => failure !== null)).toBe(true);
  }
}
