/**
 * Asks a judge what code cannot decide. It is shown the collected artifacts and what the tests said, never what the
 * policy was told or thought. Each request is kept with its reply under its hash, so that a grading can be repeated
 * without asking. A judge that cannot be reached, or that cannot decide, is the verifier's fault and never a 0.
 */
import { extname } from "node:path";
import { Failure, failureClass, toFailure } from "../core/errors.ts";
import type { JudgeEndpoint, JudgeRecord, JudgeResult, JudgeSpec } from "../core/judge.ts";
import { type Runtime, withDeadline } from "../core/runtime.ts";
import type { Artifacts, GradeRequest, TestResult } from "../core/verifier.ts";
import { cleanEvidence, type EvidencePiece } from "./judge-evidence.ts";
import { type Ballot, ballot, countVotes, readVote, requestHash, rubricScore, type Vote } from "./rubric.ts";

/** What a judge is asked about. There is no field for a transcript, for reasoning, or for what the agent was told. */
export interface JudgeInput {
  readonly spec: JudgeSpec;
  readonly artifacts: Pick<Artifacts, "answer" | "files">;
  readonly tests: readonly Pick<TestResult, "id" | "status" | "detail">[];
  /** Paths the task itself names; files elsewhere are shown without the name that the agent gave them. */
  readonly knownPaths: readonly string[];
  readonly gradingSeed: bigint;
  readonly signal: AbortSignal;
}

const FILES_MAX = 64;
const TESTS_MAX = 200;
const DETAIL_CHARACTERS_MAX = 300;

/** Asks all votes. Throws `judge_unavailable`, `verifier_report_invalid` when the votes decide too little, `cancelled`. */
export async function askJudge(input: JudgeInput, endpoint: JudgeEndpoint): Promise<JudgeResult> {
  const { spec, gradingSeed, signal } = input;
  const evidence = cleanEvidence(piecesOf(input));
  const ballots = Array.from({ length: spec.votes }, (_, vote) => {
    return ballot({ items: spec.items, evidence, gradingSeed }, vote);
  });
  const records = await Promise.all(ballots.map((each) => ask(each, spec.model, endpoint, signal)));
  const votes = ballots.map((each, index): Vote => readVote(records[index]?.reply.text ?? "", each, evidence));
  const items = countVotes(spec.items, votes);
  const score = rubricScore(items);
  if (score !== null) return { score, share: spec.share, items, records };
  const open = items.filter((item) => item.score === null).map((item) => item.name);
  throw new Failure(
    "verifier_report_invalid",
    `The judge's ${spec.votes} votes disagree on over half of the rubric's weight (${open.join(", ")}); ` +
      "make those questions of [sandlot.judge] in task.toml decidable from the artifacts alone.",
  );
}

/**
 * The judge's part of one grading; null for a task without one. It is asked only where code found something, since it
 * counts only there, and within the time of a grading. Throws like `askJudge`.
 */
export async function gradeByJudge(
  request: GradeRequest,
  graded: { readonly total: number; readonly isVetoed: boolean; readonly tests: readonly TestResult[] },
  { endpoint, runtime }: { readonly endpoint: JudgeEndpoint | null; readonly runtime: Runtime },
): Promise<JudgeResult | null> {
  const { task } = request;
  if (task.judge === undefined) return null;
  if (graded.total === 0 || graded.isVetoed) return unaskedJudge(task.judge);
  if (endpoint === null) {
    throw new Failure(
      "judge_unavailable",
      `Task ${task.key} has a [sandlot.judge] in task.toml and no judge is named: name one by --judge and --judge-url, or by [judge] model and endpoint of the recipe, or take the table out.`,
    );
  }
  const input = judgeInput(task.judge, request, graded.tests);
  const { gradeMs } = task.limits;
  const late = () => new Failure("judge_unavailable", `The judge had not answered after ${gradeMs} ms.`);
  return withDeadline(runtime, gradeMs, late, (deadline) =>
    askJudge({ ...input, signal: AbortSignal.any([input.signal, deadline]) }, endpoint),
  );
}

/** The judge's part where it is not asked. */
export function unaskedJudge({ items, share }: JudgeSpec): JudgeResult {
  const unscored = items.map(({ name, weight }) => ({ name, weight, score: null, quotes: [] }));
  return { score: 0, share, items: unscored, records: [] };
}

function judgeInput(spec: JudgeSpec, request: GradeRequest, tests: readonly TestResult[]): JudgeInput {
  const { task, artifacts, gradingSeed, signal } = request;
  const knownPaths = [...task.contract.files, ...task.files].map((file) => file.path);
  return { spec, artifacts, tests, knownPaths, gradingSeed, signal };
}

/** Answers from `records` what was asked before, and asks `endpoint` the rest; null: such a question cannot be asked. */
export function replayingJudge(records: Iterable<JudgeRecord>, endpoint: JudgeEndpoint | null): JudgeEndpoint {
  const known = new Map([...records].map((record) => [record.requestHash, record.reply]));
  return {
    ask: async (request) => {
      const reply = known.get(requestHash(request));
      if (reply !== undefined) return reply;
      if (endpoint !== null) return endpoint.ask(request);
      throw new Failure(
        "judge_unavailable",
        "The judge was not asked this before and no endpoint is named to ask it now: name one, or grade what was stored.",
      );
    },
  };
}

async function ask(
  { prompt, schema, seed }: Ballot,
  model: string | null,
  endpoint: JudgeEndpoint,
  signal: AbortSignal,
): Promise<JudgeRecord> {
  const request = { prompt, schema, model, seed };
  try {
    const reply = await endpoint.ask({ ...request, signal });
    return { requestHash: requestHash(request), prompt, reply };
  } catch (error) {
    if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
    const failure = toFailure(error);
    if (failureClass(failure.code) === "verifier") throw failure;
    throw new Failure("judge_unavailable", `The judge could not be asked (${failure.code}): ${failure.message}`, {
      cause: failure,
    });
  }
}

function piecesOf({ artifacts, tests, knownPaths }: JudgeInput): EvidencePiece[] {
  const known = new Set(knownPaths);
  const files = artifacts.files.slice(0, FILES_MAX).flatMap(({ path, bytes }, index): EvidencePiece[] => {
    const extension = /^\.[a-z0-9]{1,8}$/.exec(extname(path).toLowerCase())?.[0] ?? "";
    const label = known.has(path) ? `file ${path}` : `file ${index + 1}`;
    const text = textOf(bytes);
    return text === null ? [] : [{ label, extension, text }];
  });
  const answer = artifacts.answer === null ? [] : [{ label: "answer", extension: "", text: artifacts.answer }];
  const said = tests.slice(0, TESTS_MAX).map(({ id, status, detail }) => {
    const line = detail.replaceAll(/\s+/g, " ").slice(0, DETAIL_CHARACTERS_MAX);
    return `${id} ${status}${line === "" ? "" : ` | ${line}`}`;
  });
  const output = said.length === 0 ? [] : [{ label: "test output", extension: "", text: said.join("\n") }];
  return [...answer, ...files, ...output];
}

/** Null for what is not text. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
