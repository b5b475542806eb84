/**
 * How the program of a `match` task is asked, one hidden input at a time, by its form: text that was submitted and a
 * module among the artifacts run under the Python driver, a program among the artifacts runs as a process of its own for
 * each input. In every form the reply is data; what a program prints beside it is nothing.
 *
 * A program is started by its extension (.py python3, .sh sh, .js and .mjs node, each from /usr/bin or /bin), else by
 * its own first bytes: a `#!` line whose interpreter lies in /usr/bin or /bin, or a compiled binary.
 */
import { Failure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import { isBelow } from "../core/sandbox-path.ts";
import type { Comparison, MatchCase, MatchSubject, MatchVerifierSpec, PlainData, Task } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { canonicalPlain, pythonLiteral } from "./plain.ts";
import { type SubjectReply, startSubjectDriver } from "./subject-driver.ts";
import { SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";

const LOAD_MS_MIN = 1_000;
const PRINTED_BYTES_MAX = 1024 * 1024;
const COLLECTED = ["module", "program"];

const INTERPRETERS: Readonly<Record<string, string>> = {
  py: "/usr/bin/python3",
  sh: "/bin/sh",
  js: "/usr/bin/node",
  mjs: "/usr/bin/node",
};

/** A program that answers until it is spent; then another one is started for the inputs that are left. */
export interface AskedSubject {
  /** How loading ended; null when it can be asked. */
  readonly refusal: Exclude<SubjectReply, { kind: "value" }> | null;
  readonly isSpent: boolean;
  /** A value is canonical text: untrusted, to be compared and nothing else. */
  ask(one: MatchCase): Promise<SubjectReply>;
  close(): Promise<void>;
}

/** Where an answer is run, and within which time. */
export interface SubjectPlace {
  readonly request: GradeRequest;
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  /** In the runtime's monotonic milliseconds. */
  readonly deadline: number;
  /** Whether the program already ran in this sandbox. */
  readonly isUsed: boolean;
}

/** Whether the form needs an artifact: it is run beside the task's files and the other artifacts. */
export function isCollected(subject: MatchSubject): boolean {
  return COLLECTED.includes(subject.form);
}

/**
 * The artifact that is run; null when the agent did not make it. Throws `task_invalid` when the task names none, or one
 * that its contract does not collect.
 */
export function artifactOf({ task, artifacts }: GradeRequest, { form, file }: MatchSubject): FileContent | null {
  if (file === undefined) throw invalid(task, `the form "${form}" needs "file", the path of the artifact that is run`);
  const { state, files } = task.contract;
  const roots = state === "workdir" ? [task.workdir] : state === "declared" ? files.map((rule) => rule.path) : [];
  if (!roots.some((root) => isBelow(file, root))) {
    throw invalid(task, `its subject runs ${file}, which the artifact contract does not collect; add the path there`);
  }
  return artifacts.files.find((artifact) => artifact.path === file) ?? null;
}

/** Starts what is asked. `source` is the submitted text, or the artifact. Throws as `startSubjectDriver`. */
export async function startAsking(
  place: SubjectPlace,
  { subject }: MatchVerifierSpec,
  source: string | FileContent,
): Promise<AskedSubject> {
  if (typeof source !== "string" && subject.form === "program") return askedProgram(place, subject, source);
  const { request, sandbox, runtime, deadline, isUsed } = place;
  const isText = typeof source === "string";
  const driver = await startSubjectDriver(
    {
      form: !isText ? "file" : subject.form === "expression" ? "expression" : "function",
      source: isText ? source : source.path,
      entry: subject.entry,
      parameters: subject.parameters,
      loadMs: Math.max(LOAD_MS_MIN, subject.callMs),
      callMs: subject.callMs,
    },
    {
      sandbox,
      runtime,
      cwd: isText ? "/" : request.task.workdir,
      envVars: isText
        ? { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", HOME: "/nonexistent" }
        : { ...SUBJECT_ENVIRONMENT, ...request.task.envVars },
      timeoutMs: deadline - runtime.monotonic(),
      signal: request.signal,
      isUsed,
      isPristine: isText,
    },
  );
  let isSpent = false;
  return {
    refusal: driver.refusal,
    close: driver.close,
    get isSpent() {
      return isSpent;
    },
    ask: async ({ args }) => {
      const reply = await driver.call(`[${args.map(pythonLiteral).join()}]`, "{}");
      isSpent = reply.kind === "timeout" || reply.kind === "died";
      return reply;
    },
  };
}

/** A process for each input, so that none is ever spent. */
function askedProgram(place: SubjectPlace, subject: MatchSubject, file: FileContent): AskedSubject {
  const { request, sandbox, runtime, deadline } = place;
  const argv = argvOf(file);
  const close = async (): Promise<void> => undefined;
  if (argv === null) {
    const detail = `${file.path} cannot be run: it needs a known extension, or a first line #! with a program of /usr/bin`;
    return {
      refusal: { kind: "raised", detail },
      isSpent: false,
      close,
      ask: async () => ({ kind: "raised", detail }),
    };
  }
  return {
    refusal: null,
    isSpent: false,
    close,
    ask: async (one) => {
      const result = await sandbox.exec(argv, {
        user: "subject",
        cwd: request.task.workdir,
        envVars: { ...SUBJECT_ENVIRONMENT, ...request.task.envVars },
        input: standardInput(request.task, one),
        timeoutMs: Math.max(1, Math.ceil(Math.min(2 * subject.callMs + 1_000, deadline - runtime.monotonic()))),
        killGraceMs: 0,
        outputBytesMax: PRINTED_BYTES_MAX,
        onOutputLimit: "kill",
        descendants: "kill",
        signal: request.signal,
      });
      if (request.signal.aborted) {
        throw new Failure("cancelled", "The grading was cancelled.", { cause: request.signal.reason });
      }
      return printed(result, one);
    },
  };
}

/** Null for a file that nothing of the image runs. */
function argvOf({ path, bytes }: FileContent): readonly string[] | null {
  const extension = /\.(\w+)$/.exec(path)?.[1] ?? "";
  const interpreter = Object.hasOwn(INTERPRETERS, extension) ? INTERPRETERS[extension] : undefined;
  if (interpreter !== undefined) return [interpreter, path];
  const head = Buffer.from(bytes.subarray(0, 256)).toString("latin1");
  return head.startsWith("\x7fELF") || /^#! *\/(usr\/)?bin\/[\w.+-]+( |\n)/.test(head) ? [path] : null;
}

function standardInput(task: Task, { id, args }: MatchCase): Uint8Array {
  const [input] = args;
  if (args.length !== 1 || typeof input !== "string") {
    throw invalid(task, `the case "${id}" must have one argument, the text that the program reads`);
  }
  return Buffer.from(input, "utf8");
}

function printed(result: ExecResult, { expected, compare }: MatchCase): SubjectReply {
  if (result.timedOut) return { kind: "timeout", detail: "no answer within the time limit" };
  if (result.oomKilled) return { kind: "died", detail: "ran out of memory" };
  if (result.verdict === "output_limit")
    return { kind: "died", detail: `printed more than ${PRINTED_BYTES_MAX} bytes` };
  if (result.exitCode !== 0) {
    const said = Buffer.from(result.stderr).toString("utf8").trim().split("\n").at(-1) ?? "";
    const how = result.startError ?? result.signal ?? `exit code ${result.exitCode}`;
    return { kind: "raised", detail: `${how}: ${said.slice(0, 400).replace(/[^ -~]/g, "?")}` };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(result.stdout);
    return { kind: "value", text: canonicalPlain(readText(text, expected, compare)) };
  } catch {
    return { kind: "raised", detail: "printed bytes that are no UTF-8" };
  }
}

/**
 * What a text says where the expected value is no text: with `numeric` a number, or numbers between spaces; with
 * `unordered` its lines. A line end after the last line is no part of a text.
 */
export function readText(text: string, expected: PlainData, compare: Comparison | undefined): PlainData {
  const body = withoutLastLineEnd(text);
  if (compare?.kind === "numeric" && (typeof expected === "number" || isTagged(expected))) return numberIn(body);
  if (compare?.kind === "numeric" && Array.isArray(expected)) return body.split(/\s+/).filter(Boolean).map(numberIn);
  if (compare?.kind === "unordered" && Array.isArray(expected)) return body === "" ? [] : body.split("\n");
  return body;
}

/** As `readText` leaves the given text. */
export function withoutLastLineEnd<T extends PlainData>(value: T): T | string {
  return typeof value === "string" ? value.replace(/\r?\n$/, "") : value;
}

function isTagged(value: PlainData): boolean {
  return typeof value === "object" && value !== null && ("$float" in value || "$int" in value);
}

/** A finite decimal number; any other text stays what it is, and is then equal to no number. */
function numberIn(text: string): PlainData {
  const trimmed = text.trim();
  if (/^[+-]?\d{1,400}$/.test(trimmed)) return { $int: trimmed.replace(/^\+/, "") };
  const isDecimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?$/i.test(trimmed);
  return isDecimal && Number.isFinite(Number(trimmed)) ? { $float: trimmed } : text;
}

function invalid(task: Task, what: string): Failure {
  return new Failure("task_invalid", `The match verifier of ${task.key} cannot grade: ${what}.`);
}
