/**
 * Carries the requests of hidden tests into the subject sandbox and the replies back. The two sandboxes have no link of
 * their own: the runner writes requests to one of its descriptors, and the platform alone decides what they may do.
 *
 * The subject sandbox is the clean task image with the task's files and the agent's artifacts, made ready by the first
 * request.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { isBelow } from "../core/sandbox-path.ts";
import type { Task } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { callNodeSubject } from "./node-subject.ts";
import { type SubjectReply, startSubjectDriver } from "./subject-driver.ts";
import { prepareSubject, SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";

const OUTPUT_BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS_MAX = 600_000;

/** Answers what tests ask of the subject. */
export interface SubjectRelay {
  /**
   * Answers one request of the runner; one at a time. Throws sandbox failures, `verifier_report_invalid` for a malformed
   * request, and `cancelled` once the signal aborts: nobody waits for the answer any more.
   */
  answer(request: unknown, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  sandboxIds(): readonly string[];
  close(): Promise<void>;
}

/** What it answers with. */
export interface RelayParts {
  /** A clean sandbox, or how to get one when the first request needs it. The relay destroys it. */
  readonly subject: Sandbox | (() => Promise<Sandbox>);
  readonly runtime: Runtime;
  /** Called with `hold` when preparing the sandbox begins, and with `go` when it is ready. */
  readonly onHold: (kind: "hold" | "go") => void;
}

/** A relay of one grading; the caller closes it. */
export function subjectRelay(grade: GradeRequest, { subject, runtime, onHold }: RelayParts): SubjectRelay {
  let sandbox = typeof subject === "function" ? null : subject;
  // Begun while the runner starts; whether it failed matters only to a test that asks for the subject.
  let preparing = sandbox === null ? null : prepareSubject(sandbox, grade);
  preparing?.catch(() => undefined);
  let isReady = false;
  let isUsed = false;
  return {
    answer: async (request, given) => {
      const asked = subjectRequestOf(request);
      const signal = AbortSignal.any([grade.signal, given]);
      if (sandbox === null || !isReady) {
        onHold("hold");
        if (sandbox === null && typeof subject === "function") sandbox = await subject();
        if (sandbox === null) throw new Failure("sandbox_unavailable", "There is no sandbox for the subject.");
        preparing ??= prepareSubject(sandbox, grade);
        await preparing;
        isReady = true;
        onHold("go");
      }
      try {
        refuseUnprovided(asked, grade);
        if (asked.kind === "run") return { id: asked.id, ...(await run(asked, { sandbox, task: grade.task, signal })) };
        const wasUsed = isUsed;
        isUsed = true;
        return { id: asked.id, ...(await call(asked, { sandbox, task: grade.task, signal }, runtime, wasUsed)) };
      } catch (error) {
        if (toFailure(error).code !== "sandbox_killed") throw error;
        return { id: asked.id, kind: "ended", detail: "the program ended its own sandbox" };
      } finally {
        isUsed = true;
      }
    },
    sandboxIds: () => (sandbox === null ? [] : [sandbox.id]),
    close: async () => {
      await sandbox?.destroy();
      await preparing?.catch(() => undefined);
    },
  };
}

interface CallRequest {
  readonly kind: "call";
  readonly id: number;
  readonly path: string;
  readonly function: string;
  /** What the module is written in, and with it how the arguments are spelled. */
  readonly language: "python" | "node";
  /** Python literals, or text of `node/plain-data.mjs`; written by the trusted side. */
  readonly args: string;
  readonly kwargs: string;
  readonly timeoutMs: number;
}

interface RunRequest {
  readonly kind: "run";
  readonly id: number;
  readonly argv: readonly string[];
  /** Base64. */
  readonly stdin: string;
  readonly timeoutMs: number;
}

function subjectRequestOf(value: unknown): CallRequest | RunRequest {
  const request = (value ?? {}) as Partial<CallRequest> & { argv?: unknown; stdin?: unknown; kind?: unknown };
  const { id, timeoutMs } = request;
  const isTimed = typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX;
  if (typeof id === "number" && isTimed) {
    const { kind, path, args, kwargs, argv, stdin } = request;
    if (kind === "call" && isText(path) && isText(request.function) && isLiteral(args) && isLiteral(kwargs)) {
      const language = request.language === "node" ? "node" : "python";
      return { kind, id, path, function: request.function, language, args, kwargs, timeoutMs };
    }
    if ((kind as unknown) === "run" && Array.isArray(argv) && argv.length > 0 && argv.every(isText) && isText(stdin)) {
      return { kind: "run", id, argv, stdin, timeoutMs };
    }
  }
  throw new Failure(
    "verifier_report_invalid",
    `A test sent a malformed request to the subject: a call or run with a time limit of 1 to ${TIMEOUT_MS_MAX} ms.`,
  );
}

/**
 * A module of the work folder that neither the agent's contract nor the environment can bring is a mistake of the task
 * and not a failed test. Only a path the hidden files write out counts, for one that came from the agent could be any.
 */
function refuseUnprovided(asked: CallRequest | RunRequest, { task }: GradeRequest): void {
  if (asked.kind === "run" || task.contract.state === "workdir" || task.setup !== null) return;
  const { verifier, contract, workdir } = task;
  const path = asked.path.startsWith("/") ? asked.path : `${workdir}/${asked.path}`;
  const isCollected = contract.state === "declared" && contract.files.some((rule) => isBelow(path, rule.path));
  if (isCollected || !isBelow(path, workdir) || task.files.some((file) => file.path === path)) return;
  const hidden = verifier.kind === "tests" ? verifier.files : [];
  // Between a quote and the name of its function: a path that is any word of a test, or part of one, may be the agent's.
  const isWritten = hidden.some(({ bytes }) => {
    const text = Buffer.from(bytes).toString("utf8");
    return [`"`, `'`, "`"].some((quote) => text.includes(`${quote}${asked.path}:`));
  });
  if (!isWritten) return;
  throw new Failure(
    "verifier_crashed",
    `The hidden tests of ${task.key} call ${path}, which neither its contract collects nor its environment holds; name it in task.toml, [sandlot.contract] files.`,
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isLiteral(value: unknown): value is string {
  return typeof value === "string" && /^[ -~]*$/.test(value);
}

/** Where a request is carried out. */
interface Place {
  readonly sandbox: Sandbox;
  readonly task: Task;
  readonly signal: AbortSignal;
}

type Reply = Readonly<Record<string, unknown>>;

/** One function call, in a process of its own: nothing of one call is left for the next but files. */
async function call(asked: CallRequest, place: Place, runtime: Runtime, isUsed: boolean): Promise<Reply> {
  const { sandbox, task, signal } = place;
  const path = asked.path.startsWith("/") ? asked.path : `${task.workdir}/${asked.path}`;
  const envVars = { ...SUBJECT_ENVIRONMENT, ...task.envVars };
  if (asked.language === "node") {
    const node = { path, function: asked.function, args: asked.args, timeoutMs: asked.timeoutMs };
    const reply = await callNodeSubject(node, { sandbox, runtime, cwd: task.workdir, envVars, signal });
    return reply.kind === "raised" ? { ...reply, type: typeOf(reply.detail) } : reply;
  }
  const driver = await startSubjectDriver(
    {
      form: "file",
      source: path,
      entry: asked.function,
      parameters: [],
      loadMs: asked.timeoutMs,
      callMs: asked.timeoutMs,
    },
    {
      sandbox,
      runtime,
      cwd: task.workdir,
      envVars,
      timeoutMs: 2 * asked.timeoutMs + 30_000,
      signal,
      isUsed,
    },
  );
  try {
    return replyOf(driver.refusal ?? (await driver.call(asked.args, asked.kwargs)));
  } finally {
    await driver.close();
  }
}

function replyOf(reply: SubjectReply): Reply {
  switch (reply.kind) {
    case "value":
      return { kind: "value", text: reply.text };
    case "raised":
      return { kind: "raised", type: typeOf(reply.detail), detail: reply.detail };
    case "timeout":
      return { kind: "timeout", detail: reply.detail };
    case "died":
      return { kind: "ended", detail: reply.detail };
  }
}

/** The name of what was raised, as the program states it. */
function typeOf(detail: string): string {
  return detail.split(":", 1)[0] ?? "";
}

async function run(asked: RunRequest, { sandbox, task, signal }: Place): Promise<Reply> {
  const result: ExecResult = await sandbox.exec(asked.argv, {
    user: "subject",
    cwd: task.workdir,
    envVars: { ...SUBJECT_ENVIRONMENT, ...task.envVars },
    input: Buffer.from(asked.stdin, "base64"),
    timeoutMs: asked.timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal,
  });
  if (signal.aborted) throw new Failure("cancelled", "Nobody waits for this command.", { cause: signal.reason });
  return {
    kind: "ran",
    exitCode: result.exitCode,
    stdout: Buffer.from(result.stdout).toString("base64"),
    stderr: Buffer.from(result.stderr).toString("base64"),
    timedOut: result.timedOut,
  };
}
