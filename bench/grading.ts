/**
 * What grading apart from the agent costs: the same product graded in place by its tests alone, and by freezing its
 * sandbox, collecting what it left and grading that in clean sandboxes. Both in turn, round by round, in one process.
 * `SANDLOT_BENCH_SCALE` sets the number of rounds; run alone, this file prints its result as JSON.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import type { Sandbox } from "../src/core/sandbox.ts";
import type { SandboxPool } from "../src/core/sandbox-pool.ts";
import type { Artifacts, Verifier } from "../src/core/verifier.ts";
import { freezeAndCollect } from "../src/episode/freeze-and-collect.ts";
import { systemRuntime } from "../src/runtime/system.ts";
import { sandboxPool } from "../src/sandbox/pool.ts";
import { namespaceProvider } from "../src/sandbox/provider-namespace.ts";
import { createVerifier } from "../src/verifier/verifier.ts";
import { matchFunction } from "../test/hacks/fixtures/match.ts";
import { unittestRepair } from "../test/hacks/fixtures/python-tests.ts";
import type { Fixture } from "../test/hacks/hack.ts";
import { smallRequest } from "../test/support/sandbox-request.ts";

const ROUNDS = Math.max(4, Math.round(60 * Number(process.env["SANDLOT_BENCH_SCALE"] ?? "1")));
const WARM_UP = 2;
const THROUGHPUT_GRADINGS = 2 * ROUNDS;
const COMMAND = { timeoutMs: 60_000, outputBytesMax: 65_536 };

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

interface GradingRow {
  readonly kind: string;
  /** The task's tests run in the agent's own sandbox, the interpreter's start included. */
  readonly inPlaceMs: Quantiles;
  /** Freeze, collect, claim, place, run, report. */
  readonly separateMs: Quantiles;
  /** What of it goes to freezing and collecting; an answer has nothing to collect. */
  readonly collectMs: Quantiles;
  /** Separate less in place, round by round. */
  readonly addedMs: Quantiles;
  /** Separate less the time the tests themselves took. */
  readonly overheadMs: Quantiles;
}

export interface GradingBench {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  readonly loadBefore: readonly number[];
  readonly loadAfter: readonly number[];
  readonly rounds: number;
  readonly rows: readonly GradingRow[];
  readonly gradingsPerSecond: Readonly<Record<string, number>>;
  readonly warmShare: number;
}

interface Round {
  readonly inPlaceMs: number;
  readonly collectMs: number;
  readonly gradeMs: number;
  readonly testsMs: number;
}

export async function run(): Promise<GradingBench> {
  const loadBefore = loadavg();
  const runtime = systemRuntime();
  const provider = namespaceProvider({ runtime });
  const cores = availableParallelism();
  const pool = sandboxPool({ provider, runtime, lentMax: 16, creatingMax: cores, readyMax: 16 });
  const verifier = createVerifier({ runtime });
  const bench = { pool, verifier, now: runtime.monotonic };
  try {
    const rounds = new Map<string, Round[]>();
    const fixtures = [matchFunction, unittestRepair];
    for (let index = -WARM_UP; index < ROUNDS; index += 1) {
      for (const fixture of fixtures) {
        const round = await oneRound(bench, fixture, index);
        if (index >= 0) rounds.set(fixture.kind, [...(rounds.get(fixture.kind) ?? []), round]);
      }
    }
    const gradingsPerSecond: Record<string, number> = {};
    for (const fixture of fixtures) gradingsPerSecond[fixture.kind] = await throughput(bench, fixture, cores);
    const { claimsByPath } = pool.stats();
    const result: GradingBench = {
      cores,
      cpu: cpus()[0]?.model ?? "unknown",
      node: process.version,
      loadBefore,
      loadAfter: loadavg(),
      rounds: ROUNDS,
      rows: [...rounds].map(([kind, all]) => rowOf(kind, all)),
      gradingsPerSecond,
      warmShare: claimsByPath.ready / (claimsByPath.ready + claimsByPath.cold),
    };
    print(result);
    return result;
  } finally {
    await pool.drain();
    await provider.close();
  }
}

interface Bench {
  readonly pool: SandboxPool;
  readonly verifier: Verifier;
  readonly now: () => number;
}

/** The oracle's product, graded both ways from one acting sandbox. */
async function oneRound(bench: Bench, fixture: Fixture, index: number): Promise<Round> {
  const { task, shared } = fixture;
  if (shared === null) throw new Error(`${fixture.kind} has no form that runs in place`);
  const attemptId = `bench-${fixture.kind}-${index}`.replaceAll(" ", "-");
  const request = smallRequest({ attemptId, image: task.image, limits: task.resources });
  return bench.pool.withSandbox(request, new AbortController().signal, async (sandbox) => {
    await makeProduct(sandbox, fixture);
    const inPlaceFrom = bench.now();
    const result = await sandbox.exec("CASES=$(cat /tests/cases.json) python3 -m unittest discover -s /tests", {
      ...COMMAND,
      cwd: task.workdir,
    });
    const inPlaceMs = bench.now() - inPlaceFrom;
    if (result.exitCode !== 0) throw new Error(Buffer.from(result.stderr).toString("utf8"));
    const collectFrom = bench.now();
    const { artifacts } = await freezeAndCollect(task.contract, task.workdir, task.oracle.answer, sandbox);
    const gradeFrom = bench.now();
    const verdict = await grade(bench, fixture, artifacts, request.attemptId);
    const gradeMs = bench.now() - gradeFrom;
    if (verdict.total !== 1) throw new Error(`the oracle of ${fixture.kind} earned ${verdict.total}`);
    const testsMs = verdict.tests.reduce((sum, { durationMs }) => sum + durationMs, 0);
    return { inPlaceMs, collectMs: gradeFrom - collectFrom, gradeMs, testsMs };
  });
}

async function makeProduct(sandbox: Sandbox, { task, shared }: Fixture): Promise<void> {
  await sandbox.exec(`mkdir -p ${task.workdir}`, COMMAND);
  const answer = task.oracle.answer;
  const answered =
    answer === null ? [] : [{ path: `${task.workdir}/answer.txt`, bytes: Buffer.from(answer), mode: 0o644 }];
  for (const file of [...task.files, ...(shared?.files ?? []), ...answered]) await sandbox.files.write(file);
  for (const command of task.oracle.commands) await sandbox.exec(command, { ...COMMAND, cwd: task.workdir });
}

function grade({ pool, verifier }: Bench, { task }: Fixture, artifacts: Artifacts, attemptId: string) {
  const signal = new AbortController().signal;
  return verifier.grade({ task, artifacts, gradingSeed: 7n, attemptId, fence: 1, signal }, pool);
}

/** Gradings a second with as many at once as keep the cores busy. */
async function throughput(bench: Bench, fixture: Fixture, cores: number): Promise<number> {
  const files = fixture.task.contract.files.map(({ path }) => ({
    path,
    bytes: Buffer.from("def spread(values):\n    return max(values) - min(values) if values else 0\n"),
    mode: 0o644,
  }));
  const artifacts = { answer: fixture.task.oracle.answer, files, missing: [], hash: "bench" };
  let left = THROUGHPUT_GRADINGS;
  const from = bench.now();
  const worker = async (): Promise<void> => {
    for (left -= 1; left >= 0; left -= 1)
      await grade(bench, fixture, artifacts, `bench-many-${fixture.kind.replaceAll(" ", "-")}-${left}`);
  };
  await Promise.all(Array.from({ length: 2 * cores }, worker));
  return THROUGHPUT_GRADINGS / ((bench.now() - from) / 1000);
}

function rowOf(kind: string, rounds: readonly Round[]): GradingRow {
  const of = (value: (round: Round) => number): Quantiles => quantiles(rounds.map(value));
  const separate = ({ collectMs, gradeMs }: Round): number => collectMs + gradeMs;
  return {
    kind,
    inPlaceMs: of(({ inPlaceMs }) => inPlaceMs),
    separateMs: of(separate),
    collectMs: of(({ collectMs }) => collectMs),
    addedMs: of((round) => separate(round) - round.inPlaceMs),
    overheadMs: of((round) => separate(round) - round.testsMs),
  };
}

function quantiles(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

function print({ rows, gradingsPerSecond, warmShare, rounds, loadBefore, loadAfter }: GradingBench): void {
  const cell = ({ p50, p99 }: Quantiles): string => `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
  console.log(
    `p50 / p99 in ms over ${rounds} rounds; load average ${loadBefore[0]?.toFixed(1)} before, ${loadAfter[0]?.toFixed(1)} after`,
  );
  for (const row of rows) {
    console.log(
      `${row.kind.padEnd(18)} in place ${cell(row.inPlaceMs)}, separate ${cell(row.separateMs)} (collecting ${cell(row.collectMs)}), added ${cell(row.addedMs)}, beyond the tests ${cell(row.overheadMs)}, ${gradingsPerSecond[row.kind]?.toFixed(1)} gradings/s`,
    );
  }
  console.log(`claims served warm: ${(100 * warmShare).toFixed(0)} %`);
}

if (import.meta.main) console.log(JSON.stringify(await run()));
