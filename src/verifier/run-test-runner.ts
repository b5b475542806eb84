/**
 * The platform's end of `python/test_runner.py`: gives it its nonce, reads its signed report, and carries what its tests
 * ask of the subject. A report that does not come whole is the verifier's fault.
 */
import { Failure, type FailureCode, toFailure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { type InputQueue, inputQueue } from "./input-queue.ts";
import { messageFrame, messageReader } from "./message-frames.ts";
import { type Report, type ReportReader, reportReader } from "./report-frames.ts";
import type { SubjectRelay } from "./subject-relay.ts";
import type { TemplateInput } from "./template.ts";

/** Where the runner and the modules of its children lie, owned by root. */
export const RUNNER_FOLDER = "/run/runner";

const NONCE_BYTES = 32;
const LOG_BYTES_MAX = 1024 * 1024;
/** What the runner ends with when a hidden file is broken, when the image lacks something, when a hidden file hangs. */
const EXIT_BROKEN = 65;
const EXIT_MISSING = 69;
const EXIT_HANGING = 75;

const RUNNER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/bin:/bin",
  LANG: "C.UTF-8",
  TZ: "UTC",
  HOME: "/nonexistent",
};

/** What the runner's requests are answered with. */
export interface RunnerLinks {
  readonly relay: SubjectRelay;
  readonly replies: InputQueue;
  readonly runtime: Runtime;
}

/** Runs it to its end. Throws `verifier_crashed`, `verifier_timeout`, `verifier_report_invalid`, sandbox failures. */
export async function runTestRunner(
  sandbox: Sandbox,
  input: TemplateInput,
  { relay, replies, runtime }: RunnerLinks,
): Promise<Report> {
  const { request, gradeMs } = input;
  const nonce = runtime.randomBytes(NONCE_BYTES);
  const report = reportReader(nonce);
  const nonceInput = inputQueue();
  nonceInput.push(nonce);
  nonceInput.end();
  const stop = new AbortController();
  const relayed = relayRequests(relay, replies.push, () => stop.abort());
  const python = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8", `${RUNNER_FOLDER}/test_runner.py`];
  const result = await sandbox.exec(python, {
    user: "verifier",
    cwd: "/run/verify",
    envVars: RUNNER_ENVIRONMENT,
    timeoutMs: gradeMs,
    outputBytesMax: LOG_BYTES_MAX,
    descendants: "kill",
    signal: AbortSignal.any([request.signal, stop.signal]),
    pipes: [
      {
        fd: 3,
        onBytes: (bytes) => {
          if (!report.push(bytes)) stop.abort();
        },
      },
      { fd: 4, input: nonceInput.input },
      { fd: 5, onBytes: relayed.take },
      { fd: 6, input: replies.input },
    ],
  });
  replies.end();
  await relayed.close();
  const failure = relayed.failure();
  if (failure !== null) throw failure;
  if (request.signal.aborted) {
    throw new Failure("cancelled", "The grading was cancelled.", { cause: request.signal.reason });
  }
  return checkedReport(report, result, stop.signal.aborted, input);
}

interface RelayedRequests {
  readonly take: (bytes: Uint8Array) => void;
  /** Gives up what is still being answered, and resolves when nothing is. */
  close(): Promise<void>;
  failure(): Failure | null;
}

/**
 * Answers one request at a time. The runner waits for each reply, unless its test ran out of time: a new request
 * therefore gives up the one before. The first failure stops the grading: `stop` is called and nothing more is answered.
 */
function relayRequests(relay: SubjectRelay, reply: (bytes: Uint8Array) => void, stop: () => void): RelayedRequests {
  const messages = messageReader();
  let failure: Failure | null = null;
  let working = Promise.resolve();
  let current = new AbortController();
  const fail = (error: unknown): void => {
    failure ??= toFailure(error);
    stop();
  };
  const answer = async (message: unknown, given: AbortSignal): Promise<void> => {
    if (failure !== null || given.aborted) return;
    try {
      reply(messageFrame(await relay.answer(message, given)));
    } catch (error) {
      if (!given.aborted) fail(error);
    }
  };
  return {
    take: (bytes) => {
      try {
        for (const message of messages.push(bytes)) {
          current.abort();
          current = new AbortController();
          const { signal } = current;
          working = working.then(() => answer(message, signal));
        }
      } catch (error) {
        fail(error);
      }
    },
    close: () => {
      current.abort();
      return working;
    },
    failure: () => failure,
  };
}

/** Exit codes are necessary, never sufficient; a report that was complete when the time ran out is kept. */
function checkedReport(report: ReportReader, result: ExecResult, isStopped: boolean, input: TemplateInput): Report {
  if (report.isComplete() && (result.exitCode === 0 || result.timedOut)) return report.finish();
  const said = Buffer.from(result.stderr).toString("utf8").trimEnd();
  const fault = (code: FailureCode, what: string): Failure =>
    new Failure(code, `The hidden tests of ${input.request.task.key} ${what}`.trim());
  const last = said.slice(said.lastIndexOf("\n") + 1);
  if (result.exitCode === EXIT_BROKEN) throw fault("verifier_crashed", `are broken: ${last}`);
  if (result.exitCode === EXIT_HANGING) throw fault("verifier_timeout", `hang: ${last}`);
  if (result.exitCode === EXIT_MISSING) throw fault("task_invalid", `cannot run: ${last}`);
  if (isStopped) return report.finish();
  const where = `See the files under tests/ of the task's folder. ${said.slice(-600).trim()}`;
  if (result.timedOut) {
    throw fault("verifier_timeout", `did not end within ${Math.round(input.gradeMs)} ms. ${where}`);
  }
  if (result.exitCode !== 0) {
    const how = result.startError ?? result.signal ?? `exit code ${result.exitCode}`;
    throw fault("verifier_crashed", `ended early, and their runner with them (${how}). ${where}`);
  }
  return report.finish();
}
