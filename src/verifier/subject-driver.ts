/**
 * The platform's end of `python/subject_driver.py`: starts the driver in a subject sandbox and sends it one call at a
 * time. Each call has a nonce the graded program cannot know before its input was sent, so a forged, early or late
 * line never counts for another call.
 *
 * Whatever the program does (hang, exit, flood, exhaust memory) is a value; a lost sandbox is a thrown Failure.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { ExecResult, SandboxProcess } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { driverProgram, forgetDriverProgram, PYTHON } from "./driver-program.ts";
import { type InputQueue, inputQueue } from "./input-queue.ts";
import { pythonLiteral } from "./plain.ts";

/** The driver says hello before any graded code runs; only a broken machine takes this long. */
const HELLO_MS = 20_000;
const NONCE_BYTES = 16;
const REPLY_BYTES_MAX = 2 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 256 * 1024;

/** The program that is asked. */
export interface SubjectProgram {
  /** `expression` and `function`: `source` is program text. `file`: it is an absolute path in the sandbox. */
  readonly form: "expression" | "function" | "file";
  readonly source: string;
  /** Name of the function; empty for an expression. */
  readonly entry: string;
  /** Names an expression is evaluated with. */
  readonly parameters: readonly string[];
  /** Processor time of loading, and of one call. Wall time is bounded to about twice that. */
  readonly loadMs: number;
  readonly callMs: number;
}

/** Where it runs, and within which time. */
export interface DriverPlace {
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  readonly cwd: string;
  readonly envVars: Readonly<Record<string, string>>;
  /** Hard end of the driver's process. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether graded code already ran in this sandbox; if not, a driver that cannot start is the verifier's fault. */
  readonly isUsed: boolean;
  /** Whether the sandbox holds nothing of the agent yet, not even as data. Default false. */
  readonly isPristine?: boolean;
}

/** How one question ended. */
export type SubjectReply =
  /** Canonical text, see `plain.ts`: untrusted, compare it and never evaluate it. */
  | { readonly kind: "value"; readonly text: string }
  /** The program raised, or could not be loaded. */
  | { readonly kind: "raised"; readonly detail: string }
  | { readonly kind: "timeout"; readonly detail: string }
  /** The program ended its own process. */
  | { readonly kind: "died"; readonly detail: string };

/** Asks one program one question after the other. */
export interface SubjectDriver {
  /** How loading ended; null when the program is ready to be called. */
  readonly refusal: Exclude<SubjectReply, { kind: "value" }> | null;
  /** Arguments as Python literals. After `timeout` or `died` this driver is spent. */
  call(args: string, kwargs: string): Promise<SubjectReply>;
  /** Ends the process and waits for its end. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts a driver and loads the program.
 * Throws `verifier_crashed` or `verifier_timeout` when the driver itself does not start in a clean sandbox.
 */
export async function startSubjectDriver(program: SubjectProgram, place: DriverPlace): Promise<SubjectDriver> {
  const requests = inputQueue();
  const replies = replyLines();
  const process = await startProcess(place, requests, line(loadRequest(program)), replies.take);
  if (process === null) return spent({ kind: "died", detail: "an earlier answer ended its own sandbox" });
  const nextNonce = nonces(place.runtime);
  const ended = endOf(process);
  ended.then(replies.end, replies.end);
  const talk: Talk = { process, ended, replies, place };
  const close = async (): Promise<void> => {
    process.kill("SIGKILL");
    // What was answered stands; a sandbox lost from here on changes nothing.
    await ended.catch(() => undefined);
    requests.end();
  };
  const driver = (refusal: SubjectDriver["refusal"]): SubjectDriver => ({
    refusal,
    close,
    call: (args, kwargs) => {
      const nonce = nextNonce();
      replies.clear();
      requests.push(line(`("${nonce}",${args},${kwargs})`));
      return answer(talk, `${nonce} `, wallMs(program.callMs));
    },
  });
  try {
    const greeting = await nextLine(talk, "hello", HELLO_MS);
    if (greeting.kind !== "line") {
      forgetDriverProgram(place.sandbox);
      return driver(unstarted(greeting, await ended, place.isUsed));
    }
    return driver(await loaded(talk, wallMs(program.loadMs)));
  } catch (error) {
    await close();
    throw error;
  }
}

/** New ones without end, drawn by the block: asking the kernel for each cost more than writing it. */
function nonces(runtime: Runtime): () => string {
  let block = Buffer.alloc(0);
  return () => {
    if (block.length === 0) block = Buffer.from(runtime.randomBytes(16 * NONCE_BYTES));
    const nonce = block.toString("hex", 0, NONCE_BYTES);
    block = block.subarray(NONCE_BYTES);
    return nonce;
  };
}

/** Null when an earlier program of this sandbox has killed it. */
async function startProcess(
  place: DriverPlace,
  requests: InputQueue,
  load: Uint8Array,
  take: (bytes: Uint8Array) => void,
): Promise<SandboxProcess | null> {
  try {
    const driver = await driverProgram(place.sandbox, place.isPristine === true && !place.isUsed, place.signal);
    requests.push(Buffer.concat([driver.bytes, load]));
    return await place.sandbox.start(driver.argv, {
      user: "subject",
      cwd: place.cwd,
      envVars: place.envVars,
      timeoutMs: Math.max(1, Math.ceil(place.timeoutMs)),
      killGraceMs: 0,
      outputBytesMax: OUTPUT_BYTES_MAX,
      onOutputLimit: "kill",
      descendants: "kill",
      signal: place.signal,
      pipes: [
        { fd: 3, onBytes: take },
        { fd: 4, input: requests.input },
      ],
    });
  } catch (error) {
    if (place.isUsed && toFailure(error).code === "sandbox_killed") return null;
    throw error;
  }
}

/** A driver that never came to life. */
function spent(refusal: Exclude<SubjectReply, { kind: "value" }>): SubjectDriver {
  return { refusal, call: async () => refusal, close: async () => undefined };
}

function loadRequest(program: SubjectProgram): string {
  const { form, entry, parameters, source, loadMs, callMs } = program;
  const texts = [form, entry, [...parameters], source].map(pythonLiteral);
  return `(${texts.join()},${loadMs / 1000},${callMs / 1000})`;
}

function line(text: string): Uint8Array {
  return Buffer.from(`${text}\n`, "ascii");
}

/** A busy machine may need longer than the processor time it grants. */
function wallMs(cpuMs: number): number {
  return 2 * cpuMs + 1_000;
}

interface Talk {
  readonly process: SandboxProcess;
  /** Null when the program killed its own sandbox. */
  readonly ended: Promise<ExecResult | null>;
  readonly replies: ReplyLines;
  readonly place: DriverPlace;
}

/** The process's end. A sandbox the program killed is an end like any other; a lost one is thrown. */
async function endOf(process: SandboxProcess): Promise<ExecResult | null> {
  try {
    return await process.result;
  } catch (error) {
    if (toFailure(error).code === "sandbox_killed") return null;
    throw error;
  }
}

type NextLine = { readonly kind: "line"; readonly text: string } | { readonly kind: "ended" | "late" | "flood" };

/** The next line that starts with `prefix`, which is cut off; other lines are dropped. Kills the process otherwise. */
async function nextLine(talk: Talk, prefix: string, ms: number): Promise<NextLine> {
  let cancel = (): void => undefined;
  const late = new Promise<"late">((resolve) => {
    cancel = talk.place.runtime.timer(ms, () => resolve("late"));
  });
  try {
    const text = await Promise.race([talk.replies.next(prefix), late]);
    if (text !== null && text !== "late" && text !== "flood") return { kind: "line", text: text.text };
    if (text !== null) talk.process.kill("SIGKILL");
    await talk.ended;
    if (talk.place.signal.aborted) {
      throw new Failure("cancelled", "The grading was cancelled.", { cause: talk.place.signal.reason });
    }
    return { kind: text ?? "ended" };
  } finally {
    cancel();
    talk.replies.forget();
  }
}

async function loaded(talk: Talk, ms: number): Promise<SubjectDriver["refusal"]> {
  const next = await nextLine(talk, "", ms);
  if (next.kind !== "line") return endReply(next.kind, await talk.ended);
  if (next.text === "loaded") return null;
  return { kind: "raised", detail: readable(next.text) };
}

async function answer(talk: Talk, prefix: string, ms: number): Promise<SubjectReply> {
  const next = await nextLine(talk, prefix, ms);
  if (next.kind !== "line") return endReply(next.kind, await talk.ended);
  if (next.text.startsWith("value ")) return { kind: "value", text: next.text.slice("value ".length) };
  return { kind: "raised", detail: readable(next.text) };
}

function unstarted(next: NextLine, result: ExecResult | null, isUsed: boolean): SubjectDriver["refusal"] {
  if (isUsed) return { kind: "died", detail: "an earlier answer left a sandbox in which nothing starts" };
  if (next.kind === "late") {
    throw new Failure("verifier_timeout", `The subject driver did not start within ${HELLO_MS} ms; try again.`);
  }
  const why = result?.startError ?? (result === null ? "killed" : Buffer.from(result.stderr).toString("utf8", 0, 400));
  throw new Failure(
    "verifier_crashed",
    `The subject driver did not start (${why}); the image needs a Python 3 at ${PYTHON[0]}.`,
  );
}

function endReply(
  how: "ended" | "late" | "flood",
  result: ExecResult | null,
): Exclude<SubjectReply, { kind: "value" }> {
  if (how === "late") return { kind: "timeout", detail: "no answer within the time limit" };
  if (how === "flood") return { kind: "died", detail: `wrote more than ${REPLY_BYTES_MAX} bytes as its answer` };
  if (result === null) return { kind: "died", detail: "ended its own sandbox" };
  if (result.oomKilled) return { kind: "died", detail: "ran out of memory" };
  if (result.timedOut || result.signal === "SIGPROF") return { kind: "timeout", detail: "used up its processor time" };
  if (result.verdict === "output_limit") return { kind: "died", detail: `printed more than ${OUTPUT_BYTES_MAX} bytes` };
  return { kind: "died", detail: `ended its process (${result.signal ?? `exit code ${result.exitCode}`})` };
}

/** Untrusted text for people: what the driver spelled as canonical text, as one line of printable ASCII. */
function readable(text: string): string {
  const body = /"([^"]*)"\]?$/.exec(text)?.[1] ?? text;
  const plain = text.includes('["text",') ? Buffer.from(body, "hex").toString("utf16le") : body;
  return plain.slice(0, 500).replace(/[^ -~]/g, "?");
}

interface ReplyLines {
  readonly take: (bytes: Uint8Array) => void;
  readonly end: () => void;
  /** Drops what came before now. */
  clear(): void;
  /** Null at the end of the process. One waiter at a time. */
  next(prefix: string): Promise<{ readonly text: string } | "flood" | null>;
  forget(): void;
}

/** Splits what the driver's descriptor 3 brings into lines, within a bound that starts anew with each `clear`. */
function replyLines(): ReplyLines {
  let chunks: Uint8Array[] = [];
  let bytesTaken = 0;
  let lines: string[] = [];
  let isEnded = false;
  let waiter: { prefix: string; settle: (value: { text: string } | "flood" | null) => void } | null = null;
  const serve = (): void => {
    while (waiter !== null) {
      const next = lines.shift();
      if (next === undefined) {
        if (bytesTaken > REPLY_BYTES_MAX) waiter.settle("flood");
        else if (isEnded) waiter.settle(null);
        return;
      }
      if (next.startsWith(waiter.prefix)) {
        const { prefix, settle } = waiter;
        waiter = null;
        settle({ text: next.slice(prefix.length) });
      }
    }
  };
  return {
    take: (bytes) => {
      bytesTaken += bytes.length;
      if (bytesTaken <= REPLY_BYTES_MAX) {
        chunks.push(bytes.slice());
        if (bytes.includes(10)) {
          const complete = Buffer.concat(chunks).toString("latin1").split("\n");
          const rest = complete.pop() ?? "";
          chunks = rest === "" ? [] : [Buffer.from(rest, "latin1")];
          lines.push(...complete);
        }
      }
      serve();
    },
    end: () => {
      isEnded = true;
      serve();
    },
    clear: () => {
      chunks = [];
      lines = [];
      bytesTaken = 0;
    },
    next: (prefix) =>
      new Promise((settle) => {
        waiter = { prefix, settle };
        serve();
      }),
    forget: () => {
      waiter = null;
    },
  };
}
